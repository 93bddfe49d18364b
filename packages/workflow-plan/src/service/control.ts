import { closeSync, futimesSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Lock, takeLock, writeFileAtomic } from "@uncaged/workflow/internal";
import { ExecutorError } from "../error/error.ts";
import type { HeldLock, PlanStore } from "../store/store.ts";

/*
 * What the service of a plan home shares with other processes beside the database. Only the locks decide who is at work:
 * they are the operating system's, and end with their process. The files hold what is shown, asked for and remembered.
 */

/** A service that runs: what it has reported of itself. */
export type ServiceInfo = { pid: number; startedAt: string };
/** That the service is to end; with `drainSeconds` when the runs are paused, and at the latest after so many seconds. */
export type StopRequest = { drainSeconds: number | null };

const files = {
  /** Held by the service while it runs. */
  service: "service.lock",
  info: "service.json",
  stop: "service.stop",
  drained: "service.drained",
  /** Its time is that of the last pass over the triggers. */
  looked: "triggers.looked",
} as const;

const at = (home: string, file: keyof typeof files): string => join(home, files[file]);

// Who asks whether a service runs has its lock for a moment, and a process that was just started the locks of who started it.
const shortestWaitMs = 300;

/** Makes this process the service of a home. @throws ExecutorError when another one is. */
export function lockService(home: string): Lock {
  const lock = takeLock(at(home, "service"), shortestWaitMs);
  if (lock) return lock;
  throw new ExecutorError(`a service runs already for the plans in ${home}`, {
    hint: "stop it first: uncaged-workflow plan service stop",
  });
}

/** Takes the lock of who looks at triggers, the service or one pass; null when another process has it. */
export async function lockTriggers(store: PlanStore): Promise<HeldLock | null> {
  return await waitForTriggers(store, AbortSignal.timeout(shortestWaitMs)).catch(
    (error: unknown) => {
      if (error instanceof DOMException) return null;
      throw error;
    },
  );
}

/** As {@link lockTriggers}, when the other process is done. @throws what the signal was aborted with. */
export const waitForTriggers = (store: PlanStore, signal: AbortSignal): Promise<HeldLock> =>
  store.lock("triggers", () => signal.throwIfAborted());

/** The service that runs for a home; null when none does. */
export function runningService(home: string): ServiceInfo | null {
  if (statSync(at(home, "service"), { throwIfNoEntry: false }) === undefined) return null;
  const lock = takeLock(at(home, "service"), 0);
  lock?.release();
  if (lock) return null;
  return (read(home, "info") as ServiceInfo | null) ?? { pid: 0, startedAt: "" };
}

export const writeInfo = (home: string, info: ServiceInfo): void => write(home, "info", info);

/** Notes that a pass has looked at the triggers of a home. */
export function noteLook(home: string, now = Date.now()): void {
  const file = openSync(at(home, "looked"), "a", 0o600);
  futimesSync(file, now / 1000, now / 1000);
  closeSync(file);
}

/** How old the last pass may be: a timer begins one each minute. */
const longestSinceLookMs = 150_000;

/** Whether anything lets the triggers of a home fire: a service, or passes one after the other. */
export function isFiring(home: string): boolean {
  if (runningService(home) !== null) return true;
  const looked = statSync(at(home, "looked"), { throwIfNoEntry: false });
  return looked !== undefined && Date.now() - looked.mtimeMs < longestSinceLookMs;
}

/** Asks the service to end. */
export const requestStop = (home: string, request: StopRequest): void =>
  write(home, "stop", request);

export const stopRequest = (home: string): StopRequest | null =>
  read(home, "stop") as StopRequest | null;
export const forgetStop = (home: string): void => rmSync(at(home, "stop"), { force: true });

/** The runs that a service has paused to end, by the ids of their threads: the next one resumes them. */
export const drainedThreads = (home: string): string[] =>
  (read(home, "drained") as string[] | null) ?? [];

export function rememberDrained(home: string, threadIds: readonly string[]): void {
  if (threadIds.length > 0) write(home, "drained", threadIds);
  else rmSync(at(home, "drained"), { force: true });
}

/** What a file holds; null when it is not there, or is not whole. */
function read(home: string, file: keyof typeof files): unknown {
  try {
    return JSON.parse(readFileSync(at(home, file), "utf8"));
  } catch {
    return null;
  }
}

const write = (home: string, file: keyof typeof files, value: unknown): void =>
  writeFileAtomic(at(home, file), `${JSON.stringify(value)}\n`);
