import type { Step } from "@uncaged/workflow";
import type { PlanStep } from "../plan/plan.ts";
import { recordOf } from "./record.ts";

/**
 * Returns the indexes of the steps that a retry keeps, for `Host.fork`: all records of the succeeded steps, and the
 * subtasks that they created, in any state. All other steps are repeated.
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

type Steps = { steps: readonly PlanStep[] };

/**
 * Returns the indexes of the records that a retry keeps with a version of the plan: the records of succeeded steps,
 * unless the version defines a step differently or one of its dependencies is repeated.
 *
 * @param before the definition at the time of the records; null if unknown, which counts as unchanged
 */
export function keptOf(records: readonly Step[], before: Steps | null, now: Steps): number[] {
  const kept = keptByRetry(records);
  if (before === null) return kept;
  const changed = new Set(changedSteps(before, now));
  return kept.filter((index) => {
    const record = records[index];
    const found = record && recordOf(record);
    return record && !changed.has(found?.event === "subtask" ? found.by : record.role);
  });
}

/** Returns the ids of a definition's steps that differ in another definition, and of their dependents. */
function changedSteps(before: Steps, now: Steps): string[] {
  const same = new Set<string>();
  const after = new Map(now.steps.map((step) => [step.id, textOf(step)]));
  for (let size = -1; size !== same.size; ) {
    size = same.size;
    for (const step of before.steps) {
      const isSame = after.get(step.id) === textOf(step);
      if (isSame && step.depends_on.every((id) => same.has(id))) same.add(step.id);
    }
  }
  return before.steps.map(({ id }) => id).filter((id) => !same.has(id));
}

const textOf = ({ depends_on, description, expected_output, inputs }: PlanStep): string =>
  JSON.stringify([description, expected_output, inputs, depends_on]);
