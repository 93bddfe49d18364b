// Entry point 6: for programs that start what they do not trust.

// Limits
export { findCommand, outputOf } from "./sandbox/command.ts";
export {
  defaultLimits,
  heldLimits,
  type LimitedCommand,
  limitCommand,
  type StepLimits,
} from "./sandbox/limits.ts";
export { type WatchedStep, watchLimits } from "./sandbox/watch.ts";
