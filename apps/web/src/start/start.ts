import type { StartThread } from "@uncaged/workflow-server/api-types";

/** A thread's limits, as they were typed; empty for none. */
export type Limits = { maxRounds: string; maxCost: string };

/** What is wrong with the limits, by their names. */
export function problemsIn({ maxRounds, maxCost }: Limits): Record<string, string> {
  const rounds = Number(maxRounds);
  const dollars = Number(maxCost);
  return {
    ...(maxRounds.trim() !== "" &&
      (!Number.isInteger(rounds) || rounds < 1) && {
        maxRounds: "This must be a whole number from 1 on.",
      }),
    ...(maxCost.trim() !== "" &&
      !(dollars > 0 && Number.isFinite(dollars)) && {
        maxCost: "This must be a number greater than 0.",
      }),
  };
}

/** The request that starts a thread. What was left empty is left to the workflow. */
export function startOf(
  workflow: string,
  prompt: string,
  params: unknown,
  { maxRounds, maxCost }: Limits,
): StartThread {
  return {
    workflow,
    prompt,
    ...(params !== undefined && { params }),
    ...(maxRounds.trim() !== "" && { maxRounds: Number(maxRounds) }),
    ...(maxCost.trim() !== "" && { options: { maxCost: Number(maxCost) } }),
  };
}
