import { closeSync, futimesSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Lock, takeLock, writeFileAtomic } from "@uncaged/workflow/internal";
import type { HeldLock, PlanStore } from "../store/store.ts";
import { serviceRuns } from "./errors.ts";

/*
 * The files that the service of a plan home shares with other processes, in addition to the database. Only the locks
 * decide which process is the service: they belong to the operating system, which releases the locks of an ended
 * process. The files contain the status, requests and the state of a drain.
 */

/** The status that a running service reports. */
export type ServiceInfo = { pid: number; startedAt: string };
/**
 * A request to end the service. With `drainSeconds`, the service ends when the runs are paused, at the latest after
 * that time.
 */
export type StopRequest = { drainSeconds: number | null };

const files = {
  /** Lock of the running service. */
  service: "service.lock",
  info: "service.json",
  stop: "service.stop",
  drained: "service.drained",
  /** Lock of a process other than the service that fires triggers. */
  loop: "triggers.loop.lock",
  /** The modification time of this file is the time of the last pass that a timer started. */
  looked: "triggers.looked",
} as const;

const at = (home: string, file: keyof typeof files): string => join(home, files[file]);

// A query for a running service briefly holds the lock, and a new process briefly holds its parent's locks.
const shortestWaitMs = 300;

/**
 * Makes this process the service of a home.
 * @throws ExecutorError when another process is the service.
 */
export function lockService(home: string): Lock {
  const lock = takeLock(at(home, "service"), shortestWaitMs);
  if (lock) return lock;
  throw serviceRuns(home);
}

/** Acquires the lock for triggers, for the service or one pass. Returns null if another process holds the lock. */
export async function lockTriggers(store: PlanStore): Promise<HeldLock | null> {
  return await waitForTriggers(store, AbortSignal.timeout(shortestWaitMs)).catch(
    (error: unknown) => {
      if (error instanceof DOMException) return null;
      throw error;
    },
  );
}

/** Waits for the lock of {@link lockTriggers}. @throws the signal's abort reason. */
export const waitForTriggers = (store: PlanStore, signal: AbortSignal): Promise<HeldLock> =>
  store.lock("triggers", () => signal.throwIfAborted());

/** Returns the running service of a home, or null. */
export function runningService(home: string): ServiceInfo | null {
  if (!isHeld(home, "service")) return null;
  return (read(home, "info") as ServiceInfo | null) ?? { pid: 0, startedAt: "" };
}

function isHeld(home: string, file: "service" | "loop"): boolean {
  if (statSync(at(home, file), { throwIfNoEntry: false }) === undefined) return false;
  const lock = takeLock(at(home, file), 0);
  lock?.release();
  return lock === null;
}

/**
 * Claims to fire the triggers of a home without being the service, from now until the release or the end of this
 * process. Returns null if another process holds the claim.
 */
export const claimTriggers = (home: string): Lock | null => takeLock(at(home, "loop"), 0);

export const writeInfo = (home: string, info: ServiceInfo): void => write(home, "info", info);

/** Records that a timer started a pass over the triggers of a home. */
export function noteLook(home: string, now = Date.now()): void {
  const file = openSync(at(home, "looked"), "a", 0o600);
  futimesSync(file, now / 1000, now / 1000);
  closeSync(file);
}

/** Maximum age of the last pass, in milliseconds. A timer starts a pass each minute. */
const longestSinceLookMs = 150_000;

/** Tells whether a service, another process or a timer's passes fire the triggers of a home. */
export function isFiring(home: string): boolean {
  if (isHeld(home, "service") || isHeld(home, "loop")) return true;
  const looked = statSync(at(home, "looked"), { throwIfNoEntry: false });
  return looked !== undefined && Date.now() - looked.mtimeMs < longestSinceLookMs;
}

export const requestStop = (home: string, request: StopRequest): void =>
  write(home, "stop", request);

export const stopRequest = (home: string): StopRequest | null =>
  read(home, "stop") as StopRequest | null;
export const forgetStop = (home: string): void => rmSync(at(home, "stop"), { force: true });

/** Returns the thread ids of the runs that an ending service paused. The next service resumes them. */
export const drainedThreads = (home: string): string[] =>
  (read(home, "drained") as string[] | null) ?? [];

export function rememberDrained(home: string, threadIds: readonly string[]): void {
  if (threadIds.length > 0) write(home, "drained", threadIds);
  else rmSync(at(home, "drained"), { force: true });
}

/** Returns the content of a file; null if it is missing or incomplete. */
function read(home: string, file: keyof typeof files): unknown {
  try {
    return JSON.parse(readFileSync(at(home, file), "utf8"));
  } catch {
    return null;
  }
}

const write = (home: string, file: keyof typeof files, value: unknown): void =>
  writeFileAtomic(at(home, file), `${JSON.stringify(value)}\n`);
