import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of runs under faults. */

/** The workflow has no completed thread, and neither a thread nor a fixture is given. */
export const noRecording = (name: string): WorkflowError =>
  WorkflowError.missing(
    "NO_RECORDING",
    `${name} has no completed thread whose steps could answer its roles`,
    `run it once: uncaged-workflow run ${name} --wait; or name a fixture: --fixture <file>; or let its roles run: --live`,
  );

/** The thread does not complete even without faults. `problem`: how it ended. */
export const endsBadly = (problem: string, isLive: boolean): WorkflowError =>
  WorkflowError.failed(
    "CHAOS_BASELINE",
    `without faults the workflow ${problem}`,
    isLive
      ? "answer its roles from a recording: leave out --live; or give the input that it needs: --prompt, --params"
      : "name a thread of this version whose steps answer its roles: --thread <id>; or let them run: --live",
  );
