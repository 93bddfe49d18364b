/**
 * Runs workflows and adapters in tests, in memory and under any test runner. Pure.
 *
 * @module
 */

// Threads
export {
  type RunThreadOptions,
  runThread,
  type StepMismatch,
  type ThreadOutcome,
} from "../testing/run-thread.ts";
export type { TestAnswer } from "../control/test-answer.ts";
export { type ReplayOptions, replayEverywhere } from "../testing/replay-everywhere.ts";

// Hosts
export { type HostRule, hostContract } from "../host/host-contract.ts";
export type { HostUnderTest } from "../host/host-trial.ts";

// Clocks
export { settableClock, type TestClock } from "../testing/clock.ts";
