import { WorkflowError } from "../contract/error.ts";

/** A sandbox is required, but this machine can't provide it. */
export const sandboxMissing = (problem: string): WorkflowError =>
  WorkflowError.failed(
    "SANDBOX_MISSING",
    `a sandbox is required: ${problem}`,
    "install bubblewrap 0.8 or later where user namespaces are allowed, or set the sandbox to auto",
  );

export const badEndpoint = (text: string): WorkflowError =>
  WorkflowError.usage(
    "SETTING_INVALID",
    `sandbox.network.allow: ${JSON.stringify(text)} is not host:port`,
    'write each entry like "localhost:5432" or "[::1]:5432"',
  );

export const proxyFailed = (path: string, problem: string, cause?: unknown): WorkflowError =>
  WorkflowError.failed("EGRESS_PROXY", `proxy socket ${path}: ${problem}`, undefined, cause);

export const diskFull = (path: string): WorkflowError =>
  WorkflowError.failed("DISK_FULL", `can't write ${path}: the disk is full`, "free some space");

export const folderReplaced = (path: string): WorkflowError =>
  WorkflowError.failed(
    "FOLDER_REPLACED",
    `${path}: replaced while it was in use`,
    "end the program that replaces it, and try again",
  );

/** A git folder that does not belong to a worktree has a file `commondir`. */
export const foreignGitFolder = (path: string): WorkflowError =>
  WorkflowError.failed(
    "FOREIGN_GIT_FOLDER",
    `${path} redirects git to another folder, and only a worktree may have it`,
    `inspect it, then delete it: rm ${path}`,
  );

export const tooManyFolders = (path: string, most: number): WorkflowError =>
  WorkflowError.failed(
    "TOO_MANY_FOLDERS",
    `${path}: more than ${most} folders in its upper levels`,
    "remove unneeded folders, or choose a folder below it",
  );
