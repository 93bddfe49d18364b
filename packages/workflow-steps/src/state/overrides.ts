import { WorkflowError } from "@uncaged/workflow";
import { isPlain } from "../expression/value.ts";
import type { RunState } from "./state.ts";
import { writable } from "./value.ts";
import type { Workflow } from "./workflow.ts";

/**
 * Puts other values into a state: of `$variables`, of `_locals` and of params.
 *
 * @throws WorkflowError `OVERRIDE_UNKNOWN` (missing) for a name that the workflow does not declare,
 * `PARAMS_INVALID` for a param of the wrong type, `VALUE_NOT_JSON` for what no variable can hold.
 */
export function applyOverrides(
  { registry }: Workflow,
  state: Pick<RunState, "variables" | "localVars" | "params">,
  overrides: Record<string, unknown>,
): void {
  if (!isPlain(overrides)) throw noRecord();
  for (const [name, value] of Object.entries(overrides)) {
    const place = name.startsWith("$")
      ? registry.vars.some((one) => one.name === name) && state.variables
      : name.startsWith("_")
        ? !name.startsWith("__") && state.localVars
        : registry.params.some((one) => one.name === name) && state.params;
    if (!place) throw unknownName(name, [...registry.vars, ...registry.params]);
    const written = writable(value, name);
    place[name] = place === state.params ? registry.someParams({ [name]: written })[name] : written;
  }
}

const noRecord = (): WorkflowError =>
  new WorkflowError({
    code: "OVERRIDE_UNKNOWN",
    kind: "missing",
    message: "overrides must be an object, with a new value for each name",
    hint: "give { $variable: value }",
  });

function unknownName(name: string, declared: { name: string }[]): WorkflowError {
  const names = declared.map((one) => one.name).slice(0, 20);
  return new WorkflowError({
    code: "OVERRIDE_UNKNOWN",
    kind: "missing",
    message: `the workflow declares no ${JSON.stringify(name)} that could get another value`,
    hint: names.length > 0 ? `it declares ${names.join(", ")}` : "it declares no names",
  });
}
