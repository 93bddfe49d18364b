import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of runs under faults. */

/** The workflow has no completed thread, and neither a thread nor a fixture is given. */
export const noRecording = (name: string): WorkflowError =>
  WorkflowError.missing(
    "NO_RECORDING",
    `${name} has no completed thread whose steps could answer its roles`,
    `run it once: uncaged-workflow run ${name} --wait; or name a fixture: --fixture <file>; or let its roles run: --live`,
  );

/** The thread fails even without faults. `problem` is its error. */
export const failsAlone = (problem: string, isLive: boolean): WorkflowError =>
  WorkflowError.failed(
    "CHAOS_FAILED",
    `the workflow fails without faults: ${problem}`,
    isLive
      ? "give the roles their inputs: --prompt, --params, --files; or leave out --live"
      : "name a thread of this version: --thread <id>; or let the roles run: --live",
  );
