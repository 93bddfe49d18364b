import { WorkflowError } from "@uncaged/workflow";

/**
 * The targets of an `out`, each with what it gets: a text is one target that gets `=_result`. None of
 * an `out` that is not there. Throws a `WorkflowError` (`OUT_INVALID`) for anything else.
 */
export function outEntries(out: unknown): [target: string, value: unknown][] {
  if (out === undefined || out === null) return [];
  if (typeof out === "string") return [[out, "=_result"]];
  if (typeof out === "object" && !Array.isArray(out)) return Object.entries(out);
  throw new WorkflowError({
    code: "OUT_INVALID",
    kind: "failed",
    message: `out is ${Array.isArray(out) ? "an array" : `a ${typeof out}`}, no target and no object`,
    hint: 'write "$x", or an object such as {"$x": "=_result"}',
  });
}
