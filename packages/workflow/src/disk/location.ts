/*
 * Owns: the file `logs/<hash>/<threadId>.location.json`, which a thread has once it has moved between hosts, or has a
 * journal. Does not own: the steps of a move (host/move.ts).
 *
 * A thread is on one host at a time. While this file names another host, the local copy of the thread is only read and
 * copied. Each change replaces the whole file, and is durable on return.
 *
 * The empty file `moved/<threadId>` is written first, so that a moved thread whose location file is lost is not
 * mistaken for a local thread.
 *
 * An older version without support for journals would repeat the work that a step's journal records. So the location
 * file of a local thread with a journal names a host that does not exist, and has the key `here`: an older version
 * treats the thread as moved.
 */
import { dirname } from "node:path";
import { isRecord } from "../contract/show.ts";
import type { HostIdentity, Location } from "../control/control.ts";
import { system } from "../system/system.ts";
import { makeFolder, readOwnFile, removeFile, writeFileAtomic } from "./files.ts";
import { journalPath, locationPath, movedPath, type Root } from "./paths.ts";
import { locationMissing, locationOfOther, locationUnreadable } from "./errors.ts";

type Thread = { hash: string; threadId: string };

const mostBytes = 64 * 1024;

/** The nonexistent host in the location file of a local thread with a journal. */
const newerVersion: HostIdentity = {
  id: "newer-version",
  name: "a newer version of uncaged-workflow",
};

/**
 * Reads the location of a thread of this storage root; null when it has never moved. @throws WorkflowError
 * `LOG_CORRUPT`.
 */
export function readLocation(root: Root, thread: Thread): Location | null {
  const noted = readNote(root, thread);
  if (!noted?.here) return noted;
  const { here: _, ...location } = noted;
  return location.moves === 0 ? null : { ...location, host: null };
}

/** Returns whether a thread has had a journal on this host. @throws WorkflowError `LOG_CORRUPT`. */
export const hasJournalNote = (root: Root, thread: Thread): boolean =>
  readNote(root, thread)?.here === true;

/** Records in the location file that a thread has a journal; durable on return. */
export function noteJournal(root: Root, thread: Thread): void {
  const noted = readNote(root, thread);
  if (noted?.here) return;
  const { moves = 0, at = system.clock.now() } = noted ?? {};
  writeNote(root, thread, { moves, host: null, at });
}

type Note = Location & { here?: true };

function readNote(root: Root, { hash, threadId }: Thread): Note | null {
  const path = locationPath(root, hash, threadId);
  if (!system.files.exists(path)) return null;
  const bytes = readOwnFile(path, mostBytes);
  if (bytes === null) return null;
  const note = parsed(bytes);
  if (!isNote(note)) throw locationUnreadable(path);
  const { threadId: owner = threadId, ...rest } = note;
  if (owner === threadId) return rest;
  throw locationOfOther(path, owner);
}

/**
 * Reads the location of a thread before a worker drives it.
 *
 * @throws WorkflowError `LOG_CORRUPT` when the location file is damaged, or missing although the thread has moved
 */
export function sureLocation(root: Root, thread: Thread): Location | null {
  const location = readLocation(root, thread);
  if (location || !system.files.exists(movedPath(root, thread.threadId))) return location;
  const path = locationPath(root, thread.hash, thread.threadId);
  throw locationMissing(path);
}

/** Returns the name of the host that a thread has moved to; null while it is on this host. */
export const movedTo = (root: Root, thread: Thread): string | null =>
  readLocation(root, thread)?.host?.name ?? null;

/** Writes or removes the location file beside the copied files of a thread, as its location requires. */
export function noteLocation(root: Root, thread: Thread, location: Location | null): void {
  if (location?.host) writeNote(root, thread, location);
  else removeFile(locationPath(root, thread.hash, thread.threadId));
}

/** Writes the location of a thread; durable on return. */
export function writeLocation(root: Root, thread: Thread, location: Location): void {
  const mark = movedPath(root, thread.threadId);
  makeFolder(dirname(mark));
  writeFileAtomic(mark, "");
  writeNote(root, thread, location);
}

function writeNote(root: Root, { hash, threadId }: Thread, location: Location): void {
  const isHere = location.host === null && system.files.exists(journalPath(root, hash, threadId));
  const note: Note = isHere ? { ...location, host: newerVersion, here: true } : location;
  const path = locationPath(root, hash, threadId);
  writeFileAtomic(path, `${JSON.stringify({ threadId, ...note })}\n`);
}

/** Parses bytes as JSON; null when the bytes are invalid. */
export function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    return null;
  }
}

function isNote(value: unknown): value is Note & { threadId?: string } {
  if (!isRecord(value) || !Number.isSafeInteger(value.moves)) return false;
  const { host, threadId } = value;
  if (threadId !== undefined && typeof threadId !== "string") return false;
  return host === null || (isRecord(host) && typeof host.name === "string");
}
