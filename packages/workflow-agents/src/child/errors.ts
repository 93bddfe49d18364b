import type { WorkflowError } from "@uncaged/workflow";
import { failure, misuse } from "../run/error.ts";

/* The errors of commands that cannot be started. */

export const missingFolder = (cwd: string): WorkflowError =>
  failure(
    "COMMAND_REFUSED",
    `the working directory ${JSON.stringify(cwd)} does not exist`,
    "start the thread again from an existing folder",
  );

/** The errors of commands that cannot be started, by the system's error code. */
const problems: Record<string, readonly [code: string, problem: string, hint: string]> = {
  ENOENT: ["COMMAND_MISSING", "is not found", "install it, or add its folder to PATH"],
  EACCES: ["COMMAND_REFUSED", "is not executable", "make it executable"],
  E2BIG: ["COMMAND_REFUSED", "got too long arguments", "pass the prompt by stdin"],
  ERR_INVALID_ARG_VALUE: ["COMMAND_REFUSED", "got an argument with a zero byte", "remove the byte"],
};

export const commandNotStarted = (name: string, cause: NodeJS.ErrnoException): WorkflowError => {
  const [code, problem, hint] = problems[cause.code ?? ""] ?? [
    "COMMAND_REFUSED",
    `can't be started: ${cause.message}`,
    "run it by hand to see why",
  ];
  return failure(code, `the command ${JSON.stringify(name.slice(0, 200))} ${problem}`, hint, {
    cause,
  });
};

export const missingCommand = (name: string): WorkflowError =>
  commandNotStarted(name, Object.assign(new Error(), { code: "ENOENT" }));

/* The errors of a sandbox's options. `code` is the error code of the caller's options. */

export const invalidSandbox = (code: string, given: unknown): WorkflowError =>
  misuse(code, `sandbox can't be ${JSON.stringify(given)}`, "use off, auto or required");

export const invalidNetwork = (code: string, given: unknown): WorkflowError =>
  misuse(code, `network can't be ${JSON.stringify(given)}`, "use on or none");

export const invalidEndpoint = (code: string, given: string): WorkflowError =>
  misuse(code, `allow: ${JSON.stringify(given)} is not host:port`, "write addresses as host:port");

/** Returns the error for the options `network` and `allow` without a sandbox. */
export const needsSandbox = (code: string): WorkflowError =>
  misuse(code, "network and allow need a sandbox", "set sandbox to auto or required");
