import { WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors of bisect. */

export const notOlder = (good: string, bad: string): WorkflowError =>
  WorkflowError.usage(
    "BISECT_RANGE",
    `the good version ${good} is not older than the bad version ${bad}`,
    "give --good the version that was registered first",
  );

/** An end of the range whose result differs from the stated result. */
export const wrongEnd = (version: string, stated: string, result: string): WorkflowError =>
  WorkflowError.failed(
    "BISECT_RANGE",
    `the ${stated} version ${version} is ${result === "skip" ? "skipped" : result}`,
    `give --${stated} another version, or test it alone`,
  );

/** A script without a verdict: not found, or ended by a signal. */
export const scriptFailed = (script: string, how: string): WorkflowError =>
  WorkflowError.failed(
    "BISECT_SCRIPT_FAILED",
    `the script ${show(script)} ${how}`,
    "exit with 0 for good, 1 to 124 for bad, 125 to skip the version",
  );

/** A version that runs its roles itself, so that a recording can't answer them. */
export const needsLive = (version: string): WorkflowError =>
  WorkflowError.failed(
    "FIXTURE_UNSUPPORTED",
    `version ${version} does not support recordings`,
    "run its roles: add --live",
  );
