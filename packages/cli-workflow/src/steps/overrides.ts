import { show, WorkflowError } from "@uncaged/workflow/host";
import type { WorkflowDocument } from "@uncaged/workflow-steps";
import { Registry } from "@uncaged/workflow-steps";
import { looseJson } from "../arguments/json.ts";

/**
 * The values that `--set` gives: `$variable`, `_local` or a param, each as JSON when it is JSON, else as
 * the text. What begins like JSON and is none is refused.
 *
 * @throws WorkflowError `BAD_OPTION`, `BAD_JSON` (usage), `NOT_DECLARED` (missing).
 */
export function overridesOf(
  pairs: readonly string[],
  { registry }: WorkflowDocument,
): Record<string, unknown> {
  const { vars, params } = new Registry(registry);
  const declared = [...vars, ...params].map(({ name }) => name);
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name = "", value = ""] = /^(\$?[A-Za-z_]\w*)=([\s\S]*)$/.exec(pair) ?? [];
      if (name === "") throw badPair(pair);
      if (!declared.includes(name) && !/^_(?!_)/.test(name)) throw notDeclared(name, declared);
      return [name, looseJson(`--set ${name}`, value)];
    }),
  );
}

function badPair(pair: string): WorkflowError {
  return new WorkflowError({
    code: "BAD_OPTION",
    kind: "usage",
    message: `--set can't be ${show(pair)}`,
    hint: "give a name and its value, in single quotes: --set '$plan={\"days\":3}'",
  });
}

function notDeclared(name: string, declared: readonly string[]): WorkflowError {
  const names = declared.slice(0, 30).join(", ");
  return new WorkflowError({
    code: "NOT_DECLARED",
    kind: "missing",
    message: `the workflow declares no ${show(name)}`,
    hint: names === "" ? "it declares no variables and no params" : `it declares ${names}`,
  });
}
