// Entry point 1: what a bundle's author imports. Pure: no Node module, and only what is used is bundled.

// Contract
export type {
  Blobs,
  Bundle,
  Descriptor,
  JsonSchema,
  Pause,
  RecordedAnswers,
  RoleOutput,
  Step,
  ThreadInput,
  WorkflowFn,
  WorkflowOptions,
  WorkflowResult,
} from "../contract/contract.ts";
export {
  type AnsweredBy,
  drainsOnPause,
  END,
  INPUT,
  type InputMeta,
  START,
  WAIT,
  type WaitMeta,
} from "../contract/contract.ts";
export { answererIn, answererText } from "../contract/answerer.ts";
export { type ApprovalDecision, decisionOf, isApproval } from "../contract/decision.ts";
export { type Answer, noAnswer, sleepsUntil, type WaitRequest } from "../contract/wait.ts";
export { stepKey } from "../contract/key.ts";
export { type Mask, maskOf } from "../contract/mask.ts";

export type { Journal, JournalEntry, PaidCall } from "../contract/journal.ts";
export {
  type Answered,
  type AskOutside,
  isStepQuestion,
  QuestionLog,
  type Questions,
} from "../contract/question.ts";
export type { SharedValues } from "../contract/shared-values.ts";

// Fixtures
export { answersFromFixture, type Fixture } from "../contract/fixture.ts";

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
export { type DurableProgram, durable } from "../durable/durable.ts";
export { StepFailure } from "../durable/output.ts";
export type { RetryPolicy, StepOptions } from "../durable/tries.ts";
export { type Duration, durationHint, durationMs } from "../contract/duration.ts";

// Scheduler
export {
  concurrently,
  type ConcurrencyOptions,
  recorded,
  Limit,
  Scheduler,
  type TaskFailure,
  type Turn,
} from "../durable/scheduler.ts";

// Attempts
export {
  type AttemptOutcome,
  type Attempts,
  type AttemptSpec,
  type OpenAttempt,
  openAttempt,
  opensAttempts,
  type Path,
  type PathPart,
  usesAttempt,
} from "../contract/attempt.ts";
export { attemptIds, attemptTime } from "../contract/attempt.ts";
export {
  type Attempt,
  type AttemptTurn,
  type ErrorPart,
  errorParts,
  nestedAttempts,
  type Retry,
} from "../record/attempt.ts";
export { AttemptLog } from "../record/attempt-log.ts";
export { spendingOf } from "../record/spending.ts";
export {
  addUsage,
  noUsage,
  readAmount,
  readUsage,
  totalTokens,
  type Usage,
} from "../contract/usage.ts";

// Events
export {
  type AttemptError,
  type ErrorPosition,
  type EventPayloads,
  type EventRecord,
  type EventType,
  eventsChannel,
  type KnownEvent,
  knownEvent,
  type Orphan,
  readEvent,
  type WorkflowEvent,
} from "../contract/event.ts";
export { listNames, type TruncatedValue, truncated } from "../contract/event.ts";

// Worktrees
export {
  gitSettings,
  gitVariables,
  worktreeIn,
  type WorktreeMeta,
  worktreeRef,
} from "../contract/worktree.ts";

// Errors
export {
  type ErrorKind,
  foundProblems,
  isWorkflowError,
  messageOf,
  WorkflowError,
} from "../contract/error.ts";
