/** Whom a workflow is made for. `IDE` forbids services. */
export const WorkflowType = {
  IDE: "IDE",
  Business: "Business",
  Approval: "Approval",
  Local: "Local",
} as const;
export type WorkflowType = (typeof WorkflowType)[keyof typeof WorkflowType];

/** The states of a run. */
export const ExecutionStatus = {
  running: "running",
  completed: "completed",
  failed: "failed",
  stopped: "stopped",
  paused: "paused",
  cancelled: "cancelled",
} as const;
export type ExecutionStatus = (typeof ExecutionStatus)[keyof typeof ExecutionStatus];

/** How a Write treats a file that is there. */
export const WriteMode = {
  overwrite: "overwrite",
  failIfExists: "failIfExists",
  append: "append",
  prepend: "prepend",
} as const;
export type WriteMode = (typeof WriteMode)[keyof typeof WriteMode];

/** Whether a loop's iterations run one after the other or side by side. */
export const LoopMode = { serial: "serial", parallel: "parallel" } as const;
export type LoopMode = (typeof LoopMode)[keyof typeof LoopMode];

/**
 * What becomes of a fork when a child fails: the siblings are aborted and the run fails; the child is
 * dropped; or all end and then the run fails with every error.
 */
export const ParallelErrorStrategy = {
  fail_fast: "fail_fast",
  continue: "continue",
  collect: "collect",
} as const;
export type ParallelErrorStrategy =
  (typeof ParallelErrorStrategy)[keyof typeof ParallelErrorStrategy];

/** What `next` may name instead of a step. */
export const RETURN = "RETURN";
export const BREAK = "BREAK";

/** The construct that several entry steps make: a fork that no step stands for. */
export const ENTRY = "__entry__";
