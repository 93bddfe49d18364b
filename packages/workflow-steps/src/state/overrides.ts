import { WorkflowError } from "@uncaged/workflow";
import { isPlain } from "../expression/value.ts";
import type { PathPart } from "./commit.ts";
import { chainAt, insideAt, type Position } from "./position.ts";
import type { RunState } from "./state.ts";
import { writable } from "./value.ts";
import type { Workflow } from "./workflow.ts";

/** The locals that each iteration of a loop has of its own. */
const ofIteration: ReadonlySet<string> = new Set(["_item", "_index", "_iterDir"]);

/**
 * Puts other values into a run's state that goes on at a path: of `$variables`, of `_locals` and of params.
 * An `_item`, `_index` and `_iterDir` are those of the innermost iteration there, and of no later one.
 *
 * @throws WorkflowError those of {@link applyOverrides}.
 */
export function giveAt(
  workflow: Workflow,
  state: RunState,
  path: readonly PathPart[],
  overrides: Record<string, unknown>,
): void {
  const locals = isPlain(overrides) ? givenAt(state.position, path) : null;
  if (!locals) return applyOverrides(workflow, state, overrides);
  const names = Object.keys(overrides);
  const those = (isOf: (name: string) => boolean) =>
    Object.fromEntries(names.filter(isOf).map((name) => [name, overrides[name]]));
  const inner = those((name) => ofIteration.has(name));
  applyOverrides(workflow, { ...state, localVars: locals }, inner);
  applyOverrides(
    workflow,
    state,
    those((name) => !ofIteration.has(name)),
  );
}

/** The locals given to the innermost iteration on a path, to be changed; null when it lies in none. */
function givenAt(root: Position, path: readonly PathPart[]): Record<string, unknown> | null {
  const depth = path.findLastIndex((part) => "child" in part && part.iteration !== undefined);
  const part = path[depth];
  if (!part || !("child" in part) || part.iteration === undefined) return null;
  const { given } = insideAt(chainAt(root, path.slice(0, depth)), part.in);
  const locals = { ...given.get(part.iteration) };
  given.set(part.iteration, locals);
  return locals;
}

/**
 * Puts other values into a state: of `$variables`, of `_locals` and of params.
 *
 * @throws WorkflowError `OVERRIDE_UNKNOWN` (missing) for a name that the workflow does not declare,
 * `PARAMS_INVALID` for a param of the wrong type, `VALUE_NOT_JSON` for what no variable can hold.
 */
function applyOverrides(
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
