import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

const failure = (message: string, hint: string): WorkflowError =>
  WorkflowError.failed("CHAOS_FAILED", message, hint);

/** The child process ended without a result. `how` is the rest of a sentence: `used more than 4 GiB of memory`. */
export const processEnded = (how: string): WorkflowError =>
  failure(
    `the process that runs the workflow ${how}`,
    "run the workflow without faults and read its log: uncaged-workflow logs @last",
  );

export const neverEnds = (ms: number): WorkflowError =>
  failure(
    `the thread did not end within ${ms / 1000} s`,
    "omit --live to answer its roles from a recording, or use a smaller input: --prompt, --params",
  );

/** A workflow whose roles can't be replaced by recorded answers. */
export const rolesNotAnswered = (name: string): WorkflowError =>
  failure(
    `${show(name)} runs its roles itself, so a recording can't answer them`,
    "run the roles: --live",
  );
