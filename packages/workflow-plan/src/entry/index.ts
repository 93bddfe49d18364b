/**
 * Plans: their formats and checks, the planner, bundles, and the state of runs.
 *
 * @module
 */

// Formats
export type {
  AdditionalMount,
  ChannelContext,
  ContainerConfig,
  FailurePolicy,
  PlanMetadata,
  PlannerOutput,
  PlanStep,
  StepStatus,
  TriggerConfig,
  Workflow,
  WorkflowPhase,
} from "../plan/plan.ts";
export type { Session, StepRun, WorkflowRun } from "../plan/records.ts";
export type { AllowedRoot, MountAllowlist } from "../mount/mount.ts";
export type { PlanDocument } from "../plan/definition.ts";

// Checks
export { checkPlan, type CheckedPlan } from "../check/check.ts";
export type { PlanProblem } from "../check/steps.ts";
export { placed } from "../layout/layout.ts";

// Planner
export {
  generatePlan,
  modifyPlan,
  Planner,
  type PlannerOptions,
  type SecretStore,
  type StreamCallbacks,
} from "../planner/planner.ts";
export type { PlannerSession, PlannerTurn } from "../planner/session.ts";

// Bundle
export { planBundle, type PlanOptions } from "../bundle/bundle.ts";

// Runs
export { PlanState, type StepState } from "../state/state.ts";
export { keptByRetry } from "../state/kept.ts";

// Agents
export type {
  StepAgent,
  StepAnswer,
  StepRequest,
  StepSurroundings,
  Subtask,
} from "../agent/agent.ts";

// Errors
export {
  ConfigError,
  CueclawError,
  ExecutorError,
  PlannerError,
  TriggerError,
} from "../error/error.ts";
