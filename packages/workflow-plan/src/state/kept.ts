import type { Step } from "@uncaged/workflow";
import { recordOf } from "./record.ts";

/**
 * The numbers from 0 of the steps that a retry keeps, for `Host.fork`: all records of the steps that have succeeded,
 * and the subtasks that these have created, whatever became of them. The rest is done again.
 */
export function keptByRetry(steps: readonly Pick<Step, "role" | "content" | "meta">[]): number[] {
  const succeeded = new Set<string>();
  for (const step of steps) {
    const record = recordOf(step);
    if (record?.event === "succeeded") succeeded.add(step.role);
  }
  return steps.flatMap((step, index) => {
    const record = recordOf(step);
    if (record === null) return [];
    const owner = record.event === "subtask" ? record.by : step.role;
    return succeeded.has(owner) ? [index] : [];
  });
}
