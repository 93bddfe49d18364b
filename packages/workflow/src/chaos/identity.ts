import type { RoleOutput } from "../contract/contract.ts";
import { isRecord } from "../contract/show.ts";
import { worktreeIn } from "../contract/worktree.ts";
import { stepIdentity } from "../testing/replay-everywhere.ts";

/** Keys of a meta that count, measure or name an execution. A repetition has other values. */
const ofExecution: ReadonlySet<string> = new Set([
  ...["usage", "cost", "model", "models", "token", "durationMs", "eventSeq", "runID", "failures"],
]);

/** Returns the compared parts of a step: without times, spending, and the numbers of its execution. */
export function identityOf(step: RoleOutput): string {
  const worktree = worktreeIn(step);
  const entries = Object.entries(step.meta).flatMap(([key, value]): [string, unknown][] => {
    if (ofExecution.has(key)) return [];
    if (key === "worktree" && worktree) return [[key, [worktree.name, worktree.tree]]];
    if (key === "variables" && Array.isArray(value)) return [[key, value.map(withoutNumber)]];
    if (key !== "__durable__" || !isRecord(value)) return [[key, value]];
    const { spent: _, ...own } = value;
    return Object.keys(own).length === 0 ? [] : [[key, own]];
  });
  const content = "durationMs" in step.meta ? step.content.replace(time, "") : step.content;
  return stepIdentity({ role: step.role, content, meta: Object.fromEntries(entries) });
}

/** The time at the end of the content of a step workflow's step. */
const time = /(, |: )?\d+(\.\d+)? s$/;

function withoutNumber(write: unknown): unknown {
  if (!isRecord(write)) return write;
  const { seq: _, ...own } = write;
  return own;
}
