import { nanoid } from "nanoid";
import { placed } from "../layout/layout.ts";
import type {
  ChannelContext,
  PlanMetadata,
  PlannerOutput,
  Workflow,
  WorkflowPhase,
} from "../plan/plan.ts";
import { prefixes } from "../plan/terms.ts";
import { notModifiable } from "./errors.ts";

const draftPhases: readonly WorkflowPhase[] = ["active", "completed", "failed"];

/** The framework's additions to a model's plan. */
export type Origin = { context: ChannelContext; metadata?: PlanMetadata; now: number };

/** Returns a new, unconfirmed plan with positions for its steps. */
export function newWorkflow(plan: PlannerOutput, { context, metadata, now }: Origin): Workflow {
  const at = new Date(now).toISOString();
  return {
    schema_version: "1.0",
    id: prefixes.plan + nanoid(),
    ...plan,
    steps: placed(plan.steps),
    phase: "awaiting_confirmation",
    ...{ created_at: at, updated_at: at },
    metadata: { owner: { ...context }, ...metadata },
  };
}

/**
 * Returns a plan that replaces another plan and keeps its id, times, description and metadata. If the other plan is
 * confirmed, the result is a draft, and the phase stays.
 */
export function modifiedWorkflow(before: Workflow, plan: PlannerOutput, now: number): Workflow {
  const { created_at, description, id, metadata, phase, schema_version } = before;
  return {
    ...{ schema_version, id, ...plan, description, steps: placed(plan.steps) },
    phase: draftPhases.includes(phase) ? phase : "awaiting_confirmation",
    ...{ created_at, updated_at: new Date(now).toISOString() },
    ...(metadata && { metadata }),
  };
}

/** Checks that a plan's phase allows a change. @throws PlannerError */
export function checkModifiable({ id, phase }: Workflow): void {
  if (phase === "executing" || phase === "paused") throw notModifiable(id, phase);
}
