import { ConfigError, ExecutorError } from "../error/error.ts";

/* The errors of the service of plans, and of its unit. */

export const serviceRuns = (home: string): ExecutorError =>
  new ExecutorError(`a service already runs for the plans in ${home}`, {
    hint: "stop it first: uncaged-workflow plan service stop",
  });

export const noService = (home: string): ExecutorError =>
  new ExecutorError(`no service runs for the plans in ${home}`);

export const notInstalled = (path: string): ConfigError =>
  new ConfigError(`the service is not installed: ${path} not found`, {
    hint: "install it: uncaged-workflow plan service install",
  });

export const unitNotWritten = (cause: Error): ConfigError =>
  new ConfigError(`the service can't be installed: ${cause.message}`, {
    hint: "check the owner and the mode of its folder",
    cause,
  });

/** A service that did not start. `log` is the command or the file that shows the reason. */
export const notStarted = (seconds: number, log: string): ExecutorError =>
  new ExecutorError(`the service did not start within ${seconds} seconds`, {
    hint: `see its log: ${log}`,
  });

export const notEnded = (seconds: number, pid: number): ExecutorError =>
  new ExecutorError(`the service did not end within ${seconds} seconds`, {
    hint: `end its process: kill ${pid}`,
  });

const runYourself = "run the service yourself: uncaged-workflow plan service run";

export const managerMissing = (program: string): ConfigError =>
  new ConfigError(`${program} not found on PATH`, { hint: runYourself });

export const managerUnknown = (platform: string): ConfigError =>
  new ConfigError(`no supported service manager on ${platform}`, { hint: runYourself });

export const managerFailed = (command: string, reason: string, cause: unknown): ConfigError =>
  new ConfigError(`${command} failed: ${reason}`, { cause });

export const relativeProgram = (program: string): ConfigError =>
  new ConfigError(`${program} is not an absolute path, as a unit requires`);

export const lineBreakInUnit = (): ConfigError =>
  new ConfigError("a unit can't contain a line break");
