/*
 * Owns: the file `logs/<hash>/<threadId>.location.json`, which a thread has once it has moved between hosts. Does not
 * own: the order in which a thread is moved (host/move.ts).
 *
 * A thread is on one host at a time. While this file names another host, nothing is done to the thread here but to read
 * and to copy it. Each change of the file replaces it whole, and is on the disk when it returns.
 *
 * The empty file `moved/<threadId>` is written first: a note that is lost is then not taken for a thread that is here.
 */
import { dirname } from "node:path";
import { WorkflowError } from "../contract/error.ts";
import { isRecord } from "../contract/show.ts";
import type { Location } from "../control/control.ts";
import { system } from "../system/system.ts";
import { makeFolder, readOwnFile, removeFile, writeFileAtomic } from "./files.ts";
import { locationPath, movedPath, type Root } from "./paths.ts";

type Thread = { hash: string; threadId: string };

const mostBytes = 64 * 1024;

/** Where a thread of this storage root is; null when it has never moved. @throws WorkflowError `LOG_CORRUPT`. */
export function readLocation(root: Root, { hash, threadId }: Thread): Location | null {
  const path = locationPath(root, hash, threadId);
  if (!system.files.exists(path)) return null;
  const bytes = readOwnFile(path, mostBytes);
  if (bytes === null) return null;
  const location = parsed(bytes);
  if (!isLocation(location)) throw locationError(`${path} does not name the host of the thread`);
  const { threadId: owner = threadId, ...rest } = location;
  if (owner === threadId) return rest;
  throw locationError(`${path} is the note of the thread ${owner}`);
}

/**
 * The same for whoever goes on with the thread.
 *
 * @throws WorkflowError `LOG_CORRUPT` also when the thread has moved once and its note is missing
 */
export function sureLocation(root: Root, thread: Thread): Location | null {
  const location = readLocation(root, thread);
  if (location || !system.files.exists(movedPath(root, thread.threadId))) return location;
  const path = locationPath(root, thread.hash, thread.threadId);
  throw locationError(`${path} is missing, and the thread has moved once`);
}

const locationError = (message: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    message,
    "restore the file from a backup; the thread may be on another host",
  );

/** The name of the host that a thread has moved to; null while it is here. */
export const movedTo = (root: Root, thread: Thread): string | null =>
  readLocation(root, thread)?.host?.name ?? null;

/** Has the files of a thread of another host show where it is. */
export function noteLocation(root: Root, thread: Thread, location: Location | null): void {
  if (location?.host) writeNote(root, thread, location);
  else removeFile(locationPath(root, thread.hash, thread.threadId));
}

/** Notes where a thread is. It is durable on return. */
export function writeLocation(root: Root, thread: Thread, location: Location): void {
  const mark = movedPath(root, thread.threadId);
  makeFolder(dirname(mark));
  writeFileAtomic(mark, "");
  writeNote(root, thread, location);
}

const writeNote = (root: Root, { hash, threadId }: Thread, location: Location): void =>
  writeFileAtomic(
    locationPath(root, hash, threadId),
    `${JSON.stringify({ threadId, ...location })}\n`,
  );

/** The JSON value that the bytes are; null where they are none. */
export function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    return null;
  }
}

function isLocation(value: unknown): value is Location & { threadId?: string } {
  if (!isRecord(value) || !Number.isSafeInteger(value.moves)) return false;
  const { host, threadId } = value;
  if (threadId !== undefined && typeof threadId !== "string") return false;
  return host === null || (isRecord(host) && typeof host.name === "string");
}
