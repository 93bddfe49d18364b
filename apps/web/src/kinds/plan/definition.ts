import type { Plan } from "@uncaged/workflow-server/api-types";

/** Metadata that a user does not edit. */
const learned = [
  ...["bundle", "draft", "last_run", "notices", "owner", "retry", "runs_without_log"],
  "shares_name",
];

/** The editable part of a plan, as JSON. */
export function definitionOf(plan: Plan): string {
  const { name, description, trigger, failure_policy } = plan;
  const steps = plan.steps.map((step) => ({ ...step, position: undefined }));
  const own = Object.entries(plan.metadata ?? {}).filter(([key]) => !learned.includes(key));
  const metadata = own.length > 0 ? Object.fromEntries(own) : undefined;
  return JSON.stringify({ name, description, trigger, steps, failure_policy, metadata }, null, 2);
}

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
