// Entry point 3: for tests of workflows and of adapters. Pure, under any test runner.

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

// Stand-ins
export { settableClock, type TestClock } from "../testing/clock.ts";
