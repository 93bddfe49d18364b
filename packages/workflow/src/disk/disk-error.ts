import { WorkflowError } from "../contract/error.ts";

const freeSpace = "free some space; nothing that was committed is lost";
const checkMode = "check the owner and the mode of the storage root";

/** Code, message and hint of errors, by the system's error code. */
const causes: Record<string, [code: string, message: string, hint: string]> = {
  ENOSPC: ["DISK_FULL", "the disk is full", freeSpace],
  EDQUOT: ["DISK_FULL", "the disk quota is used up", freeSpace],
  EFBIG: ["FILE_TOO_LARGE", "the file would pass the size limit", "raise the limit (ulimit -f)"],
  EACCES: ["NO_PERMISSION", "permission denied", checkMode],
  EPERM: ["NO_PERMISSION", "not permitted", checkMode],
  EROFS: [
    "READ_ONLY",
    "the file system is read-only",
    "set UNCAGED_WORKFLOW_STORAGE_ROOT to a writable folder",
  ],
  ENOTDIR: [
    "NOT_A_FOLDER",
    "a part of the path is not a folder",
    "set UNCAGED_WORKFLOW_STORAGE_ROOT to a folder",
  ],
  ELOOP: ["PLANTED_LINK", "it is a symbolic link", "remove the link if you did not make it"],
  ENXIO: [
    "NOT_A_FILE",
    "it is not a regular file with one name",
    "move it away if you did not make it",
  ],
  EMFILE: ["TOO_MANY_FILES", "this process has too many open files", "raise the limit (ulimit -n)"],
  ENFILE: ["TOO_MANY_FILES", "the system has too many open files", "close some programs"],
  ENAMETOOLONG: [
    "PATH_TOO_LONG",
    "the path is too long",
    "set UNCAGED_WORKFLOW_STORAGE_ROOT to a shorter path",
  ],
  EIO: ["DISK_ERROR", "the disk reported an error", "check the disk before you continue"],
};

/** Returns the system's code of an error, such as `ENOSPC`; null without a code. */
export function systemCode(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}

/**
 * Converts a file system error to an error with the failed operation, the path and a hint. Returns a `WorkflowError`
 * unchanged. `doing` is the verb of the operation: `write`.
 */
export function diskError(error: unknown, doing: string, path: string): WorkflowError {
  if (error instanceof WorkflowError) return error;
  const system = systemCode(error) ?? String(error);
  const [code, reason, hint] = causes[system] ?? [
    "DISK_ERROR",
    system,
    "run uncaged-workflow doctor",
  ];
  return WorkflowError.failed(code, `can't ${doing} ${path}: ${reason}`, hint, error);
}
