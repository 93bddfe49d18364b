import type { ExecutionStatus } from "../document/constants.ts";
import type { Run } from "./run.ts";

/** The state of a run at a moment. `artifacts` are the paths of the files that it has written. */
export type WorkflowSnapshot = {
  runID: string;
  status: ExecutionStatus;
  currentStepID: string | null;
  elapsedMs: number;
  params: Record<string, unknown>;
  variables: Record<string, unknown>;
  localVars: Record<string, unknown>;
  artifacts: string[];
  paused: { nodeID: string; token: string } | null;
  eventSeq: number;
  version: string;
};

/** A deep copy of a run's state now, with what is not committed yet. */
export function snapshotOf(run: Run): WorkflowSnapshot {
  const { state } = run;
  return structuredClone({
    runID: state.runID,
    status: run.status,
    currentStepID: run.currentStepID,
    elapsedMs: run.elapsed,
    params: state.params,
    variables: state.variables,
    localVars: state.localVars,
    artifacts: Object.keys(state.artifacts),
    paused: run.paused,
    eventSeq: state.eventSeq,
    version: run.workflow.document.version,
  });
}
