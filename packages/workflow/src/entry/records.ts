/**
 * Attempts, questions and answers, computed from the records and events of a thread, for programs that show threads.
 * Pure; runs in browsers.
 *
 * @module
 */

// Attempts
export {
  type Attempt,
  attemptJson,
  type AttemptTurn,
  type ErrorPart,
  errorParts,
  nestedAttempts,
  type Retry,
} from "../record/attempt.ts";
export { AttemptLog } from "../record/attempt-log.ts";
export { spendingOf } from "../record/spending.ts";
export { firstLine, subjectOf } from "../record/subject.ts";
export { type SpendingPart, spendingParts } from "../record/parts.ts";
export { addTally, noTally, roundedCost, type Tally, tallyOf } from "../record/tally.ts";
export { type ThreadTimes, timesAt, Waited } from "../record/times.ts";
export type { Path } from "../contract/attempt.ts";
export { totalTokens } from "../contract/usage.ts";

// Events
export {
  type AttemptError,
  type ErrorPosition,
  type EventRecord,
  type KnownEvent,
  knownEvent,
  type Orphan,
  readEvent,
  type TruncatedValue,
} from "../contract/event.ts";

// Waits and answers
export { answererIn, answererText } from "../contract/answerer.ts";
export { type ApprovalDecision, decisionOf, isApproval } from "../contract/decision.ts";
export { sleepsUntil } from "../contract/wait.ts";

// Numbers that JavaScript rounds
export { isRounded, roundedIn } from "../contract/exact.ts";
