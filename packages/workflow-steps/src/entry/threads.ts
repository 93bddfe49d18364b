/**
 * Recorded threads of step workflows, and their reruns.
 *
 * @module
 */

// Documents
export { documentsIn } from "../bundle/describe.ts";
export { documentsOf } from "../bundle/recorded.ts";
export type { Documents } from "../state/state.ts";

// State
export {
  recordedCheckpoint,
  recordedSnapshot,
  type RecordedThread,
  recordedValues,
  type StepValues,
} from "../bundle/recorded.ts";

// Reruns
export { planRerun, rerunInput } from "../bundle/recorded.ts";
export { stepRun, type StepRun } from "../state/step-runs.ts";
