import { type WorkflowError, failedError } from "../contract/error.ts";

type Cause = { code: string; message: string; hint: string };

const causes: Record<string, Cause> = {
  ENOSPC: {
    code: "DISK_FULL",
    message: "the disk is full",
    hint: "free some space; nothing that was committed is lost",
  },
  EDQUOT: {
    code: "DISK_FULL",
    message: "the disk quota is used up",
    hint: "free some space; nothing that was committed is lost",
  },
  EFBIG: {
    code: "FILE_TOO_LARGE",
    message: "the file would pass the size limit",
    hint: "raise the limit (ulimit -f)",
  },
  EACCES: {
    code: "NO_PERMISSION",
    message: "permission denied",
    hint: "check the owner and the mode of the storage root",
  },
  EPERM: {
    code: "NO_PERMISSION",
    message: "not permitted",
    hint: "check the owner and the mode of the storage root",
  },
  EROFS: {
    code: "READ_ONLY",
    message: "the file system is read-only",
    hint: "set UNCAGED_WORKFLOW_STORAGE_ROOT to a writable folder",
  },
  ENOTDIR: {
    code: "NOT_A_FOLDER",
    message: "a part of the path is no folder",
    hint: "set UNCAGED_WORKFLOW_STORAGE_ROOT to a folder",
  },
  ELOOP: {
    code: "PLANTED_LINK",
    message: "there is a symbolic link where a file of ours must be",
    hint: "remove the link if you did not make it",
  },
  ENXIO: {
    code: "NOT_A_FILE",
    message: "it is no plain file with one name",
    hint: "move it away if you did not make it",
  },
  EMFILE: {
    code: "TOO_MANY_FILES",
    message: "this process has too many open files",
    hint: "raise the limit (ulimit -n)",
  },
  ENFILE: {
    code: "TOO_MANY_FILES",
    message: "the system has too many open files",
    hint: "close some programs",
  },
  EIO: {
    code: "DISK_ERROR",
    message: "the disk reported an error",
    hint: "check the disk before you go on",
  },
};

/** The system's code of an error (`ENOSPC`), or null when it has none. */
export function systemCode(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}

/** A file system error as a sentence: what could not be done, to which path, and what to do. */
export function diskError(error: unknown, doing: string, path: string): WorkflowError {
  const system = systemCode(error);
  const known = system === null ? undefined : causes[system];
  if (known) {
    return failedError(known.code, `can't ${doing} ${path}: ${known.message}`, known.hint, error);
  }
  return failedError(
    "DISK_ERROR",
    `can't ${doing} ${path}: ${system ?? String(error)}`,
    "run uncaged-workflow doctor",
    error,
  );
}
