import type { FailurePolicy, PlanMetadata, PlanStep, Workflow } from "./plan.ts";
import { failureReactions } from "./terms.ts";
import { duplicateId, reservedId, unknownReaction } from "./errors.ts";

/** The part of a plan that its runs depend on. Other changes do not make a new version. */
export type PlanDefinition = Pick<
  Workflow,
  "name" | "description" | "steps" | "failure_policy" | "metadata"
>;

/** A plan as a program imports it from JSON, without defaults filled in. */
export type PlanDocument = {
  name: string;
  description: string;
  steps: readonly (Omit<PlanStep, "agent" | "inputs"> & { agent: string; inputs: object })[];
  failure_policy: Partial<Omit<FailurePolicy, "on_step_failure">> & { on_step_failure: string };
  metadata?: PlanMetadata;
};

/**
 * Returns the definition of a checked document, with defaults filled in.
 * @throws ExecutorError if its steps cannot run as written.
 */
export function definitionOf(document: PlanDocument): PlanDefinition {
  const { failure_policy: given, steps } = document;
  const { max_retries = 0, on_step_failure, retry_delay_ms = 5000 } = given;
  const ids = new Set(steps.map(({ id }) => id));
  const reserved = steps.find(({ id }) => id.startsWith("__"));
  if (reserved) throw reservedId(reserved.id);
  if (ids.size < steps.length) throw duplicateId();
  if (!failureReactions.some((one) => one === on_step_failure)) {
    throw unknownReaction(failureReactions);
  }
  const failure_policy = { ...given, max_retries, retry_delay_ms } as FailurePolicy;
  return { ...document, steps: steps as PlanStep[], failure_policy };
}

/** Returns the steps of a plan as lines for a person, each with its dependencies. */
export const stepLines = ({ steps }: Pick<Workflow, "steps">): string[] =>
  steps.map(({ depends_on, description, id }, at) => {
    const after = depends_on.length === 0 ? "" : ` (after ${depends_on.join(", ")})`;
    return `${at + 1}. ${id}${after}: ${description}`;
  });
