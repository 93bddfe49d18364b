/**
 * Parts for front ends: their bundles interpret a document of another form (steps, a graph, a plan), or make roles of
 * models and commands. Pure, like the entry point for authors. Authors do not need it.
 *
 * @module
 */

// Concurrency
export { concurrently, Limit, Scheduler, type Turn } from "../durable/scheduler.ts";
export { drainsOnPause, folderOf } from "../contract/contract.ts";
export { durationHint, durationMs } from "../contract/duration.ts";

// Steps
export {
  type DurableStep,
  type Surround,
  type Surrounded,
  surroundSteps,
  threadOf,
} from "../moderator/surround.ts";

// Attempts
export {
  attemptIds,
  type Attempts,
  type AttemptSpec,
  type OpenAttempt,
  openAttempt,
  opensAttempts,
  type Path,
  type PathPart,
  usesAttempt,
} from "../contract/attempt.ts";
export { listNames, type TruncatedValue, truncated } from "../contract/event.ts";
export { type Mask, maskOf } from "../contract/mask.ts";

// Questions and answers
export {
  type Answered,
  type AskOutside,
  isStepQuestion,
  QuestionLog,
  type Questions,
} from "../contract/question.ts";
export { type ApprovalDecision, decisionOf } from "../contract/decision.ts";
export { noAnswer } from "../contract/errors.ts";

// Recorded values
export type { Journal, JournalEntry, PaidCall } from "../contract/journal.ts";
export type { SharedValues } from "../contract/shared-values.ts";
export type {
  CallToPay,
  RootLimits,
  RootReservation,
  RootSpending,
  SpentLimit,
} from "../contract/spending.ts";
export { stepKey } from "../contract/key.ts";
export { answersFromFixture, type Fixture } from "../contract/fixture.ts";

// Usage
export { addUsage, noUsage, totalTokens } from "../contract/usage.ts";

// Worktrees
export { gitSettings, gitVariables, worktreeIn, worktreeRef } from "../contract/worktree.ts";

// Errors
export { foundProblems, messageOf } from "../contract/error.ts";

// Numbers that JavaScript rounds
export {
  allRounded,
  isRawNumber,
  isRounded,
  parseExact,
  rawNumber,
  roundedIn,
} from "../contract/exact.ts";

// Schemas
export { type CompiledSchema, compileSchema, type Validate } from "../bundle/schema.ts";
