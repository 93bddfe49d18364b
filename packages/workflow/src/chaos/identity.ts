import type { RoleOutput } from "../contract/contract.ts";
import { isRecord } from "../contract/show.ts";
import { worktreeIn } from "../contract/worktree.ts";
import { stepIdentity } from "../testing/replay-everywhere.ts";

/** Keys of a meta that count, measure or identify an execution. A repetition has other values. */
const ofExecution: ReadonlySet<string> = new Set([
  ...["usage", "cost", "model", "models", "token", "durationMs", "eventSeq", "runID", "requestId"],
  "failures",
]);

/** Returns the parts of a step that are compared, as text: without times, spending, and the ids of its execution. */
export function identityOf(step: RoleOutput): string {
  const worktree = worktreeIn(step);
  const entries = Object.entries(step.meta).flatMap(([key, value]): [string, unknown][] => {
    if (ofExecution.has(key)) return [];
    if (key === "worktree" && worktree) return [[key, [worktree.name, worktree.tree]]];
    if (key === "variables" && Array.isArray(value)) return [[key, value.map(without("seq"))]];
    if (key === "path" && Array.isArray(value)) return [[key, value.map(without("run"))]];
    if (key === "child") return [[key, without("runID")(value)]];
    if (key !== "__durable__" || !isRecord(value)) return [[key, value]];
    const { spent: _, ...own } = value;
    return Object.keys(own).length === 0 ? [] : [[key, own]];
  });
  const content = "durationMs" in step.meta ? step.content.replace(time, "") : step.content;
  return stepIdentity({ role: step.role, content, meta: Object.fromEntries(entries) });
}

/** Matches the duration at the end of the content of a step in a step workflow. */
const time = /(, |: )?\d+(\.\d+)? s$/;

/** Returns a function that removes a key from an object. */
const without =
  (name: string) =>
  (value: unknown): unknown => {
    if (!isRecord(value)) return value;
    const { [name]: _, ...own } = value;
    return own;
  };
