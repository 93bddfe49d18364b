/*
 * Owns: the folder `due/` of a storage root, which names the threads that continue at a moment: an empty file
 * `due/<hour>/<moment>.<hash>.<threadId>` for each, the hour and the moment since the epoch, the latter in
 * milliseconds. Does not own: whether a thread sleeps, which only its log says.
 *
 * D1 An entry is durable before the step that sleeps is committed, so that a crash may leave an entry too many and
 *    never one too few. D2 Who acts on an entry reads the log first, and removes the entry when that says otherwise.
 *    What goes on has its entry removed once the newline of its answer is durable: readers would show it asleep.
 * D3 Without the file `due/complete` there may be threads without an entry: their logs are read, and it is written.
 * D4 To see that nothing is due takes the names of the hours and those of the current one.
 * D5 A paused thread keeps its entry, and is not due.
 */
import { dirname, join } from "node:path";
import { O_CREAT, O_WRONLY } from "../system/port.ts";
import { system } from "../system/system.ts";
import { diskError, systemCode } from "./disk-error.ts";
import { makeFolder, removeFile, syncFolder, withFile } from "./files.ts";
import { dueDir, namesIn, type Root } from "./paths.ts";
import { isPaused } from "./paused.ts";
import { isHash, isThreadId } from "../contract/names.ts";

/** A thread that continues at a moment, in milliseconds since the epoch. */
export type Due = { hash: string; threadId: string; at: number };

const tryAgainMs = 60_000;
const hourMs = 3_600_000;
/** The last moment that a date can be; an entry for a later one, or one before 1970, is for that end. */
const latest = 8.64e15;

const hourOf = (at: number): number => Math.floor(at / hourMs);
const momentOf = (at: number): number => Math.min(Math.max(Math.ceil(at), 0), latest);

/** The path of an entry. */
export function duePath(root: Root, { hash, threadId, at }: Due): string {
  const moment = momentOf(at);
  return join(dueDir(root), String(hourOf(moment)), `${moment}.${hash}.${threadId}`);
}

/** Adds an entry; it is durable on return. `made` are the folders that this process knows to be durable. */
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
      // Somebody has removed the folder of an hour that has passed.
      if (systemCode(error) !== "ENOENT" || tries > 2) throw diskError(error, "write", path);
    }
  }
}

/** Removes an entry; one that is not there is removed. */
export const removeDue = (root: Root, due: Due): void => removeFile(duePath(root, due));

/** Has a thread that could not be woken tried again at a time, in a minute without one. */
export function postponeDue(root: Root, due: Due, until = system.clock.now() + tryAgainMs): void {
  try {
    addDue(root, { ...due, at: until });
    removeDue(root, due);
  } catch {
    // On a full disk it stays due.
  }
}

/** The entries up to a moment, earliest first. Folders of hours that have passed and are empty are removed. */
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

/** Whether a thread of a storage root should continue by now. Where there is nothing it costs next to nothing. */
export function isAnythingDue(root: string): boolean {
  try {
    const now = system.clock.now();
    const isDue = (name: string): boolean =>
      timeOf(name) <= now && wakingIn(root as Root, name).length > 0;
    const hours = hoursIn(root as Root).filter((hour) => hour <= hourOf(now));
    return hours.some((hour) => namesOf(root as Root, hour).some(isDue));
  } catch {
    // Whoever wakes meets the same error and reports it.
    return false;
  }
}

/** The entries that lie in the folder of another hour, where they may be found too late: their paths. */
export const misplacedDue = (root: Root): string[] =>
  hoursIn(root).flatMap((hour) =>
    namesOf(root, hour)
      .filter((name) => dueIn(name).some(({ at }) => hourOf(at) !== hour))
      .map((name) => join(dueDir(root), String(hour), name)),
  );

/**
 * Whether a thread that sleeps until a moment is woken in time by one of its entries: by the one for that moment, or, once
 * that is over, by one within the time that a failed wake is postponed by.
 */
export function isListedDue(root: Root, due: Due, moments: readonly number[]): boolean {
  const now = system.clock.now();
  if (system.files.exists(duePath(root, due))) return true;
  return due.at <= now && moments.some((at) => at <= now + tryAgainMs);
}

/** When the first entry is due, in milliseconds since the epoch; null when there is none. */
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

/** Whether every thread that sleeps has an entry (D3). */
export const isDueComplete = (root: Root): boolean => system.files.exists(completePath(root));

/** Notes that every thread that sleeps has an entry. */
export function noteDueComplete(root: Root): void {
  makeFolder(dueDir(root));
  withFile(completePath(root), () => undefined, O_WRONLY | O_CREAT);
  syncFolder(dueDir(root));
}

const completePath = (root: Root): string => join(dueDir(root), "complete");

/** Whether a name is that of a folder of an hour. */
export const isDueHour = (name: string): boolean => /^[0-9]{1,10}$/.test(name);

/** Whether a name is that of an entry. */
export const isDueEntry = (name: string): boolean => dueIn(name).length > 0;

const hoursIn = (root: Root): number[] => namesIn(dueDir(root)).filter(isDueHour).map(Number);

const namesOf = (root: Root, hour: number): string[] => namesIn(join(dueDir(root), String(hour)));

// There may be very many names, and few of them are due: the others are read no further than this.
const timeOf = (name: string): number => Number.parseInt(name, 10);

/** The entry that a file's name is, if it is one. */
function dueIn(name: string): Due[] {
  const [at = "", hash = "", threadId = "", ...rest] = name.split(".");
  const isSound = /^[0-9]{1,16}$/.test(at) && isHash(hash) && isThreadId(threadId);
  return isSound && rest.length === 0 ? [{ at: Number(at), hash, threadId }] : [];
}

// D5
const wakingIn = (root: Root, name: string): Due[] =>
  dueIn(name).filter((due) => !isPaused(root, due));

function removeHour(root: Root, hour: number): void {
  try {
    system.files.removeFolder(join(dueDir(root), String(hour)));
  } catch {
    // Somebody adds to it just now, or has removed it.
  }
}
