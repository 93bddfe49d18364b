import type { WorkflowOptions } from "./contract.ts";

/**
 * The idempotency key of the n-th step of a name (from 1): of the thread that all its forks and retries come from, so
 * that it is theirs too. It has ASCII characters alone, for a header.
 */
export function stepKey(
  { threadId, forkFrom }: Pick<WorkflowOptions, "threadId" | "forkFrom">,
  role: string,
  n: number,
): string {
  const origin = forkFrom?.origin ?? forkFrom?.threadId ?? threadId;
  return `${origin}:${encodeURIComponent(role.toWellFormed())}:${n}`;
}
