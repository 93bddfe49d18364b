import { BREAK, RETURN } from "../document/constants.ts";

/** How a step names another. `next`, `onError` and `timeout` go on in the chain that the step is in. */
export type ReferenceKind = "next" | "onError" | "timeout" | "child" | "case";

/** A place in a step that names a step; `path` begins at the step. */
export type Reference = { kind: ReferenceKind; to: string; path: (string | number)[] };

/**
 * All steps that a step names, in the order of its fields. `RETURN` and `BREAK` are none. Reads
 * anything: what has not the form of a reference is left out.
 */
export function referencesOf(step: Readonly<Record<string, unknown>>): Reference[] {
  const found: Reference[] = [];
  const add = (kind: ReferenceKind, to: unknown, path: (string | number)[]) => {
    if (typeof to === "string") found.push({ kind, to, path });
  };
  for (const [index, child] of listOf(step.children).entries()) {
    add("child", child, ["children", index]);
  }
  for (const [index, pair] of listOf(step.cases).entries()) {
    add("case", listOf(pair)[1], ["cases", index, 1]);
  }
  add("onError", step.onError, ["onError"]);
  if (typeof step.timeout === "object" && step.timeout !== null && "on" in step.timeout) {
    add("timeout", step.timeout.on, ["timeout", "on"]);
  }
  if (step.next !== RETURN && step.next !== BREAK) add("next", step.next, ["next"]);
  return found;
}

/** Whether the step that is named runs in the chain of the one that names it, not inside of it. */
export const isChained = ({ kind }: Reference): boolean => kind !== "child" && kind !== "case";

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
