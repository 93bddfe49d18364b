import { WorkflowError } from "../contract/error.ts";

/* The errors of runs under faults. */

/** The child process ended before it had a result. `how`: `took longer than 10 minutes`. */
export const chaosBroken = (how: string): WorkflowError =>
  WorkflowError.failed(
    "CHAOS_FAILED",
    `the process that runs the workflow ${how}`,
    "run the workflow once without faults, and see its debug log: uncaged-workflow logs @last",
  );
