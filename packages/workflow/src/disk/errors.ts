import { WorkflowError } from "../contract/error.ts";
import { isThreadId } from "../contract/names.ts";
import { show } from "../contract/show.ts";
import type { Root } from "./paths.ts";

/* Errors of a storage root: of its folder, files, locks and logs of threads. */

export const noHome = (variable: string): WorkflowError =>
  WorkflowError.usage(
    "NO_HOME",
    "no storage root found: HOME is not set",
    `set ${variable} to a folder`,
  );

/** A path that begins with `~`, without a home folder. */
export const noHomeFor = (path: string): WorkflowError =>
  WorkflowError.usage(
    "NO_HOME",
    `${show(path)}: HOME is not set`,
    "give the path without ~, or set HOME",
  );

/** A path with a character that module imports can't have. `toChange`: the imperative that selects another root. */
export const badRootPath = (root: Root, sign: string, toChange: string): WorkflowError =>
  WorkflowError.failed(
    "ROOT_UNUSABLE",
    `the path of the storage root ${show(root)} has a ${sign}, so no bundle can be loaded from it`,
    `${toChange} another folder`,
  );

export const longRootPath = (root: Root, mostBytes: number, toChange: string): WorkflowError =>
  WorkflowError.failed(
    "ROOT_UNUSABLE",
    `the path of the storage root ${show(root)} is longer than ${mostBytes} bytes`,
    `${toChange} another folder`,
  );

export const rootNotAFolder = (root: Root, toChange: string): WorkflowError =>
  WorkflowError.failed(
    "ROOT_NOT_A_FOLDER",
    `the storage root ${root} is not a folder`,
    `${toChange} a folder`,
  );

export const rootNotOurs = (root: Root, toChange: string): WorkflowError =>
  WorkflowError.failed(
    "ROOT_NOT_OURS",
    `the storage root ${root} belongs to another user`,
    `${toChange} a folder of your own`,
  );

export const rootOpen = (root: Root, hint: string): WorkflowError =>
  WorkflowError.failed(
    "ROOT_OPEN_TO_OTHERS",
    `other users can write to the storage root ${root}`,
    hint,
  );

export const noRootId = (path: string): WorkflowError =>
  WorkflowError.failed(
    "ROOT_UNUSABLE",
    `${path}: missing id of the storage root`,
    "restore the file from a backup",
  );

const notOurs = (code: string, message: string): WorkflowError =>
  WorkflowError.failed(code, message, "move it away if you did not make it");

export const fileNotOurs = (path: string): WorkflowError =>
  notOurs("NOT_OURS", `${path} belongs to another user`);

/** `size` and `most` are in bytes. */
export const fileTooLarge = (path: string, size: number, most: number): WorkflowError =>
  notOurs("FILE_TOO_LARGE", `${path} has ${size} bytes, more than ${most}`);

export const plantedLink = (folder: string): WorkflowError =>
  WorkflowError.failed(
    "PLANTED_LINK",
    `${folder} is a symbolic link`,
    "remove the link if you did not make it",
  );

export const blobDamaged = (path: string): WorkflowError =>
  WorkflowError.failed(
    "BLOB_DAMAGED",
    `${path}: bytes differ from the stored value`,
    "restore the file from a backup, or delete it and lose the data",
  );

export const noLocks = (path: string, code: string | null, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "NO_LOCKS",
    `can't lock ${path}: its file system does not support locks (${code})`,
    "put the storage root on a disk of this machine",
    cause,
  );

export const notALock = (path: string): WorkflowError =>
  WorkflowError.failed(
    "NOT_A_LOCK",
    `${path} is not a lock file`,
    "stop all workers, then delete it",
  );

const badLocation = (message: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    message,
    "restore the file from a backup; the thread may be on another host",
  );

export const locationUnreadable = (path: string): WorkflowError =>
  badLocation(`${path} does not name the host of the thread`);

export const locationOfOther = (path: string, owner: string): WorkflowError =>
  badLocation(`${path} belongs to the thread ${owner}`);

/** A missing location of a thread that has a mark in `moved/`. */
export const locationMissing = (path: string): WorkflowError =>
  badLocation(`${path} is missing, but the thread has moved`);

export const badFilePosition = (cursor: string, path: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_POSITION",
    `${show(cursor)} is not a position of ${path}`,
    "read from the start",
  );

/** A thread of a bundle whose lock another process holds. */
export const threadClaimed = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_CLAIMED",
    `${threadId}: another process drives the threads of its bundle`,
    "find the process: uncaged-workflow ps",
  );

export const startPending = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "START_PENDING",
    `another start or move of ${threadId} is in progress`,
    "try again",
  );

export const restoredTwice = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_EXISTS",
    `another thread ${threadId} exists`,
    `remove it first: uncaged-workflow thread rm ${threadId}`,
  );

/** A text that does not match a thread in the trash. */
export const notInTrash = (text: string): WorkflowError =>
  WorkflowError.missing(
    "NOT_IN_TRASH",
    `no thread ${isThreadId(text) ? text : show(text)} found in the trash`,
    "list the trash: uncaged-workflow thread restore",
  );

export const recordTooLarge = (bytes: number): WorkflowError =>
  WorkflowError.failed(
    "RECORD_TOO_LARGE",
    `a record of ${(bytes / 1048576).toFixed(1)} MiB is too large`,
    "put large data into a file and give its path",
  );

export const logClosed = (path: string): WorkflowError =>
  WorkflowError.failed("LOG_CLOSED", `the log ${path} is closed`, "start the thread again");

/** `size` and `expected` are in bytes. */
export const foreignWrite = (path: string, size: number, expected: number): WorkflowError =>
  WorkflowError.failed(
    "FOREIGN_WRITE",
    `another process wrote to ${path}: it has ${size} bytes, not ${expected}`,
    "find its worker: uncaged-workflow ps",
  );
