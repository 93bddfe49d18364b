/*
 * Owns: the folder `due/` of a storage root, which lists the threads that continue at a given time. The entry of a
 * thread is an empty file `due/<hour>/<time>.<hash>.<threadId>`, in hours and milliseconds since the epoch. Does not
 * own: whether a thread sleeps; only its log decides.
 *
 * D1 An entry is durable before the step that sleeps is committed. After a crash an entry may be superfluous, but is
 *    never missing.
 * D2 Before acting on an entry, read the log, and remove the entry when the log disagrees. The entry of a continued
 *    thread is removed once the newline of its answer is durable: until then readers may show the thread asleep. If the
 *    newline can't be made durable, the entry is postponed.
 * D3 Without the file `due/complete` threads may lack an entry. The host then reads their logs, adds the missing
 * entries and writes the file.
 * D4 Checking for due threads reads only the names of the hours, and the names in the current and past hours.
 * D5 A paused thread keeps its entry, but is not due.
 */
import { dirname, join } from "node:path";
import { O_CREAT, O_WRONLY } from "../system/port.ts";
import { system } from "../system/system.ts";
import { diskError, systemCode } from "./disk-error.ts";
import { makeFolder, removeFile, syncFolder, withFile } from "./files.ts";
import { dueDir, namesIn, type Root } from "./paths.ts";
import { isPaused } from "./paused.ts";
import { isHash, isThreadId } from "../contract/names.ts";

/** A thread that continues at a time, in milliseconds since the epoch. */
export type Due = { hash: string; threadId: string; at: number };

const tryAgainMs = 60_000;
const hourMs = 3_600_000;
/** The latest time of a JavaScript date. Entries are clamped to the range from 1970 to this time. */
const latest = 8.64e15;

const hourOf = (at: number): number => Math.floor(at / hourMs);
const momentOf = (at: number): number => Math.min(Math.max(Math.ceil(at), 0), latest);

/** Returns the path of an entry. */
export function duePath(root: Root, { hash, threadId, at }: Due): string {
  const moment = momentOf(at);
  return join(dueDir(root), String(hourOf(moment)), `${moment}.${hash}.${threadId}`);
}

/** Adds an entry, durable on return. `made` contains the folders that are known to be durable. */
export function addDue(root: Root, due: Due, made?: Set<string>): void {
  const path = duePath(root, due);
  const folder = dirname(path);
  for (let tries = 0; ; tries += 1) {
    if (!made?.has(folder) || !system.files.exists(folder)) {
      makeFolder(dueDir(root));
      makeFolder(folder);
      made?.add(folder);
    }
    try {
      withFile(path, () => undefined, O_WRONLY | O_CREAT);
      return syncFolder(folder);
    } catch (error) {
      // Another process removed the folder of a past hour.
      if (systemCode(error) !== "ENOENT" || tries > 2) throw diskError(error, "write", path);
    }
  }
}

/** Removes an entry, if it exists. */
export const removeDue = (root: Root, due: Due): void => removeFile(duePath(root, due));

/** Postpones a thread that could not be woken until a time, by default in a minute. */
export function postponeDue(root: Root, due: Due, until = system.clock.now() + tryAgainMs): void {
  try {
    addDue(root, { ...due, at: until });
    removeDue(root, due);
  } catch {
    // On a full disk the thread stays due.
  }
}

/** Lists the entries up to a time, earliest first. Removes empty folders of past hours. */
export function listDue(root: Root, until: number): Due[] {
  const found: Due[] = [];
  for (const hour of hoursIn(root)) {
    if (hour > hourOf(momentOf(until))) continue;
    const names = namesOf(root, hour);
    if (names.length === 0 && (hour + 1) * hourMs < until) removeHour(root, hour);
    for (const name of names) if (timeOf(name) <= until) found.push(...wakingIn(root, name));
  }
  return found.sort((a, b) => a.at - b.at);
}

/** Returns whether any thread of a storage root is due. Cheap when no thread is due. */
export function isAnythingDue(root: string): boolean {
  try {
    const now = system.clock.now();
    const isDue = (name: string): boolean =>
      timeOf(name) <= now && wakingIn(root as Root, name).length > 0;
    const hours = hoursIn(root as Root).filter((hour) => hour <= hourOf(now));
    return hours.some((hour) => namesOf(root as Root, hour).some(isDue));
  } catch {
    // The caller that wakes threads gets the same error and reports it.
    return false;
  }
}

/** Returns the paths of entries in the folder of a wrong hour, where `listDue` may find them too late. */
export const misplacedDue = (root: Root): string[] =>
  hoursIn(root).flatMap((hour) =>
    namesOf(root, hour)
      .filter((name) => dueIn(name).some(({ at }) => hourOf(at) !== hour))
      .map((name) => join(dueDir(root), String(hour), name)),
  );

/**
 * Returns whether an entry wakes a sleeping thread in time: an entry for its wake time, or, once that time has passed,
 * an entry within the delay after a failed wake.
 */
export function isListedDue(root: Root, due: Due, moments: readonly number[]): boolean {
  const now = system.clock.now();
  if (system.files.exists(duePath(root, due))) return true;
  return due.at <= now && moments.some((at) => at <= now + tryAgainMs);
}

/** Returns the time of the first entry, in milliseconds since the epoch; null without an entry. */
export function nextDue(root: Root): number | null {
  for (const hour of hoursIn(root).sort((a, b) => a - b)) {
    let next = Number.POSITIVE_INFINITY;
    for (const name of namesOf(root, hour)) {
      if (timeOf(name) < next && wakingIn(root, name).length > 0) next = timeOf(name);
    }
    if (next < Number.POSITIVE_INFINITY) return next;
  }
  return null;
}

/** Returns whether every sleeping thread has an entry (D3). */
export const isDueComplete = (root: Root): boolean => system.files.exists(completePath(root));

/** Records that every sleeping thread has an entry. */
export function noteDueComplete(root: Root): void {
  makeFolder(dueDir(root));
  withFile(completePath(root), () => undefined, O_WRONLY | O_CREAT);
  syncFolder(dueDir(root));
}

const completePath = (root: Root): string => join(dueDir(root), "complete");

/** Returns whether a name is the name of an hour's folder. */
export const isDueHour = (name: string): boolean => /^[0-9]{1,10}$/.test(name);

/** Returns whether a name is the name of an entry. */
export const isDueEntry = (name: string): boolean => dueIn(name).length > 0;

const hoursIn = (root: Root): number[] => namesIn(dueDir(root)).filter(isDueHour).map(Number);

const namesOf = (root: Root, hour: number): string[] => namesIn(join(dueDir(root), String(hour)));

// Parse only the time: a folder may have many names and few due names.
const timeOf = (name: string): number => Number.parseInt(name, 10);

/** Parses a file name as an entry; empty if the name is not an entry. */
function dueIn(name: string): Due[] {
  const [at = "", hash = "", threadId = "", ...rest] = name.split(".");
  const isSound = /^[0-9]{1,16}$/.test(at) && isHash(hash) && isThreadId(threadId);
  return isSound && rest.length === 0 ? [{ at: Number(at), hash, threadId }] : [];
}

// Leaves out paused threads (D5).
const wakingIn = (root: Root, name: string): Due[] =>
  dueIn(name).filter((due) => !isPaused(root, due));

function removeHour(root: Root, hour: number): void {
  try {
    system.files.removeFolder(join(dueDir(root), String(hour)));
  } catch {
    // Another process is adding an entry to the folder, or has removed the folder.
  }
}
