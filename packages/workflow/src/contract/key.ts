import type { WorkflowOptions } from "./contract.ts";

/**
 * Returns the idempotency key of the n-th step of a role, counted from 1. The key contains the root thread's id, so all
 * forks and retries share it. It has only ASCII characters, so it fits in an HTTP header.
 */
export function stepKey(
  { threadId, forkFrom }: Pick<WorkflowOptions, "threadId" | "forkFrom">,
  role: string,
  n: number,
): string {
  const origin = forkFrom?.origin ?? forkFrom?.threadId ?? threadId;
  return `${origin}:${encodeURIComponent(role.toWellFormed())}:${n}`;
}
