import { WorkflowError } from "@uncaged/workflow";
import { ExecutorError } from "../error/error.ts";
import type { FailurePolicy } from "../plan/plan.ts";
import type { StepState } from "../state/state.ts";

export const cancelled = new Error("cancelled");

export const stuck = (steps: readonly StepState[]): ExecutorError => {
  const names = steps.filter(({ status }) => status === "pending").map(({ step }) => step.id);
  return new ExecutorError(`no step can start: ${names.join(", ")} depend on missing steps`);
};

export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim() || "no message";

export const outOfRounds = (maxRounds: number): WorkflowError =>
  WorkflowError.failed(
    "ROUND_LIMIT",
    `the run has had ${maxRounds} records`,
    "retry it, or start it with more rounds",
  );

const longestDelayMs = 3_600_000;

/** Returns the delay of the next attempt after this number of earlier failures, or null without a next attempt. */
export function retryDelay(
  { max_retries, retry_delay_ms }: FailurePolicy,
  failures: number,
): number | null {
  if (failures >= max_retries) return null;
  return Math.min(retry_delay_ms * 2 ** failures, longestDelayMs);
}
