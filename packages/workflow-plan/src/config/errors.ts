import type { WorkflowError } from "@uncaged/workflow";
import { ConfigError } from "../error/error.ts";

/* The errors of settings. `at` is the path, line and column of a value. */

/** An empty value on the command line. */
export const emptyValue = (key: string): ConfigError =>
  new ConfigError(`${key} can't be empty`, {
    hint: `remove it: uncaged-workflow plan config unset ${key}`,
  });

/** Another process holds the lock of a file for too long. */
export const fileLocked = (path: string): ConfigError =>
  new ConfigError(`${path}: locked by another process`, { hint: "try again" });

export const fileUnreadable = (path: string, code: string, cause: unknown): ConfigError =>
  new ConfigError(`${path} can't be read: ${code}`, { cause });

/** A setting that a project's file can't set at all, or can't relax. */
export const notForProjects = (
  at: string,
  key: string,
  { act, userFile }: { act: "set" | "relax"; userFile: string },
): ConfigError =>
  new ConfigError(`${at}: a project's file can't ${act} ${key}`, {
    hint: `remove it there, and set it in your own ${userFile}: uncaged-workflow plan config set ${key} <value>`,
  });

export const variableInProject = (at: string, key: string): ConfigError =>
  new ConfigError(`${at}: ${key}: a project's file can't refer to variables`, {
    hint: "write the value itself there",
  });

export const emptySetting = (at: string, key: string): ConfigError =>
  new ConfigError(`${at}: ${key || "the file"} is empty`);

/** A plain value or a list in place of a group of settings. */
export const notGroup = (at: string, key: string): ConfigError =>
  new ConfigError(`${at}: ${key || "the file"} must have keys`);

export const invalidDocument = (cause: WorkflowError): ConfigError =>
  new ConfigError(cause.message, { hint: cause.hint, cause });

/** An unknown setting. `nearest` is the known setting with the most similar key. */
export const unknownSetting = (key: string, nearest: string | null, at = ""): ConfigError =>
  new ConfigError(`${at && `${at}: `}unknown setting ${JSON.stringify(key.slice(0, 80))}`, {
    hint: nearest ? `did you mean ${nearest}?` : "list them: uncaged-workflow plan config",
  });

export const variableNotSet = (from: string, key: string, variable: string): ConfigError =>
  new ConfigError(`${from}: ${key}: \${${variable}} is not set`, {
    hint: `set the variable, or store it: uncaged-workflow plan secret set ${variable}`,
  });

/** An invalid value. `from` is the file or variable with the value; empty for the command line. */
export const invalidSetting = (
  key: string,
  problem = "is invalid",
  from: string | undefined = "",
): ConfigError => new ConfigError(`${from && `${from}: `}${key} ${problem}`);
