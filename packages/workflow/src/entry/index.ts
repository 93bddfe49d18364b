/**
 * The contract and its helpers, for authors of workflows. Pure: it does not import Node modules. A bundle includes only
 * the parts that it uses.
 *
 * @module
 */

// Contract
export type {
  AnsweredBy,
  Blobs,
  Bundle,
  Descriptor,
  InputMeta,
  JsonSchema,
  Pause,
  RecordedAnswers,
  RoleOutput,
  Step,
  ThreadInput,
  WaitMeta,
  WorkflowFn,
  WorkflowOptions,
  ResultOf,
  WorkflowResult,
} from "../contract/contract.ts";
export { END, INPUT, START, WAIT } from "../contract/contract.ts";
export type { Answer, WaitRequest } from "../contract/wait.ts";

// Moderator
export type {
  AgentFn,
  Moderator,
  Role,
  RoleMeta,
  RoleResult,
  RoleStep,
  StartStep,
  ThreadContext,
  WorkflowDefinition,
} from "../moderator/context.ts";
export { createRoleModerator } from "../moderator/moderator.ts";
export { type WaitResult, waitFor } from "../moderator/history.ts";

// Durable
export type { DurableStep, StepCall, StepContext, StepFn, Steps } from "../durable/call.ts";
export { type DurableProgram, durable, type ValueOf } from "../durable/durable.ts";
export { StepFailure } from "../durable/output.ts";
export type { RetryPolicy, StepOptions } from "../durable/tries.ts";
export type { Duration } from "../contract/duration.ts";

// Events
export {
  type ErrorPosition,
  type EventPayloads,
  type EventType,
  eventsChannel,
  type WorkflowEvent,
} from "../contract/event.ts";
export type { Usage } from "../contract/usage.ts";
export type { WorktreeMeta } from "../contract/worktree.ts";

// Questions
export type { ApprovalDecision } from "../contract/decision.ts";

// Errors
export { type ErrorKind, isWorkflowError, WorkflowError } from "../contract/error.ts";
