/*
 * Owns: the file `logs/<hash>/<threadId>.location.json`, which a thread has once it has moved between hosts. Does not
 * own: the order in which a thread is moved (host/move.ts).
 *
 * A thread is on one host at a time. While this file names another host, nothing is done to the thread here but to read
 * and to copy it. Each change of the file replaces it whole, and is on the disk when it returns.
 */
import { WorkflowError } from "../contract/error.ts";
import { isRecord } from "../contract/show.ts";
import type { Location } from "../control/control.ts";
import { system } from "../system/system.ts";
import { readOwnFile, removeFile, writeFileAtomic } from "./files.ts";
import { locationPath, type Root } from "./paths.ts";

type Thread = { hash: string; threadId: string };

const mostBytes = 64 * 1024;

/** Where a thread of this storage root is; null when it has never moved. @throws WorkflowError `LOG_CORRUPT`. */
export function readLocation(root: Root, { hash, threadId }: Thread): Location | null {
  const path = locationPath(root, hash, threadId);
  if (!system.files.exists(path)) return null;
  const bytes = readOwnFile(path, mostBytes);
  if (bytes === null) return null;
  const location = parsed(bytes);
  if (isLocation(location)) return location;
  throw WorkflowError.failed(
    "LOG_CORRUPT",
    `${path} does not name the host that the thread is on`,
    "bring the file back from a backup; the thread may be on another host",
  );
}

/** The name of the host that a thread has moved to; null while it is here. */
export const movedTo = (root: Root, thread: Thread): string | null =>
  readLocation(root, thread)?.host?.name ?? null;

/** Has the files of a thread of another host show where it is. */
export function noteLocation(root: Root, thread: Thread, location: Location | null): void {
  if (location?.host) writeLocation(root, thread, location);
  else removeFile(locationPath(root, thread.hash, thread.threadId));
}

/** Notes where a thread is. It is durable on return. */
export const writeLocation = (root: Root, { hash, threadId }: Thread, location: Location): void =>
  writeFileAtomic(locationPath(root, hash, threadId), `${JSON.stringify(location)}\n`);

/** The JSON value that the bytes are; null where they are none. */
export function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    return null;
  }
}

function isLocation(value: unknown): value is Location {
  if (!isRecord(value) || !Number.isSafeInteger(value.moves)) return false;
  const { host } = value;
  return host === null || (isRecord(host) && typeof host.name === "string");
}
