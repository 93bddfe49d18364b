/**
 * Reads a run of a graph from its thread's records. Does no I/O and runs in browsers.
 * @module
 */

// Run
export {
  foldRun,
  type GraphThread,
  type RunRecord,
  type RunResult,
  runResult,
  type RunStatus,
  type RunView,
} from "../run/run.ts";
export { importProblem } from "../run/imported.ts";
export type { ApprovalInput } from "../state/review.ts";

// Log
export {
  logEntryOf,
  type LogType,
  wholeLogEntry,
  type WorkflowLogEntry,
} from "../interpreter/log.ts";
