import type { Plan } from "@uncaged/workflow-server/api-types";

const policies: Record<Plan["failure_policy"]["on_step_failure"], string> = {
  stop: "the run ends",
  skip_dependents: "dependent steps are skipped",
  ask_user: "you are asked",
};

/** The reaction to a failed step, in words. */
export function failureWords({ on_step_failure, max_retries }: Plan["failure_policy"]): string {
  const end = policies[on_step_failure];
  if (max_retries === 0) return end;
  return `${max_retries} more ${max_retries === 1 ? "attempt" : "attempts"}, then ${end}`;
}
