import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

const failure = (message: string, hint: string): WorkflowError =>
  WorkflowError.failed("CHAOS_FAILED", message, hint);

/** The child process ended before it had a result. `how`: `took more than 4 GiB`. */
export const processEnded = (how: string): WorkflowError =>
  failure(
    `the process that runs the workflow ${how}`,
    "run it once without faults, and see why: uncaged-workflow logs @last",
  );

export const neverEnds = (ms: number): WorkflowError =>
  failure(
    `the thread has no end after ${ms / 1000} s`,
    "answer its roles from a recording: leave out --live, or give a smaller input: --prompt, --params",
  );

/** A workflow whose roles can't be replaced by recorded answers. */
export const rolesNotAnswered = (name: string): WorkflowError =>
  failure(
    `${show(name)} runs its roles itself, so a recording can't answer them`,
    "let them run: --live",
  );
