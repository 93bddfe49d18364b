import { isWorkflowError } from "../contract/error.ts";
import { sleepsUntil } from "../contract/wait.ts";
import type { LiveThread } from "../control/control.ts";
import type { ThreadEngine } from "../engine/engine.ts";
import type { InfoLog } from "./info.ts";
import { readLocation, writeLocation } from "../disk/location.ts";
import { type Location } from "../control/control.ts";
import { type HostIdentity } from "../control/control.ts";
import { duePath } from "../disk/due.ts";
import { removeQuietly } from "../disk/files.ts";
import type { Root } from "../disk/paths.ts";
import { system } from "../system/system.ts";
import { quietWakingTime } from "../disk/threads.ts";
import { movedError, movesNotRunning, type ThreadRef } from "../record/thread.ts";
import type { TakenOver } from "./create.ts";

/** A thread that is driven. */
export type Live = {
  engine: ThreadEngine;
  info: InfoLog;
  workflow: string;
  since: number;
  fail: (thrown: unknown) => void;
  /** Whether a pause was asked for, and nobody has resumed it since. */
  pauses?: boolean;
  /** Resolves when it is no longer driven and its log is closed. */
  gone: Promise<void>;
};

/** For a thread that continues within so many milliseconds its worker stays. */
const soonMs = 15 * 60_000;

/** Whether a thread runs, is paused, or continues soon without an answer. */
export const isSoonAtWork = ({ status, wakesAt }: ThreadEngine, now: number): boolean =>
  status !== "waiting" || (wakesAt !== null && wakesAt <= now + soonMs);

/** What is reported of a thread that is driven; `now` is of the clock that its `since` is of. */
export function liveThreadOf(
  threadId: string,
  { engine, workflow, since, pauses }: Live,
  now: number,
): LiveThread {
  const { status, last, steps } = engine;
  const elapsedMs = Math.round(now - since);
  const until = status === "waiting" ? sleepsUntil(last) : null;
  const sleep = until === null ? {} : { sleepingUntil: until };
  const role = last?.role ?? null;
  const pausing = pauses && status === "running" ? ({ pausing: true } as const) : {};
  return { threadId, workflow, status, role, steps, elapsedMs, ...sleep, ...pausing };
}

type LettingGo = { live: () => Live | undefined; takeOver: () => TakenOver | null };

/**
 * Stops driving a thread that does not run, and has its log end with a whole record that is on the disk. Gives whether it
 * was paused.
 *
 * @throws WorkflowError `THREAD_RUNNING`, and those of `takeOver` but that it has ended, or moved already.
 */
export async function letGo(threadId: string, { live, takeOver }: LettingGo): Promise<boolean> {
  let isPaused = false;
  do {
    for (let one = live(); one; one = live()) {
      const { over, status } = one.engine;
      if (!over && status === "running") throw movesNotRunning(threadId);
      isPaused ||= !over && status === "paused";
      if (!over) void one.engine.release();
      await one.gone;
    }
    try {
      await takeOver()?.writer.close();
    } catch (error) {
      const code = isWorkflowError(error) ? error.code : null;
      if (code !== "THREAD_ENDED" && code !== "THREAD_MOVED") throw error;
    }
    // Somebody may have resumed it meanwhile.
  } while (live());
  return isPaused;
}

/**
 * Notes that a thread which nobody drives goes on on another host, and gives the note; one that has gone there
 * already has its own. It is durable on return: from then on nothing is done to the thread here.
 *
 * @throws WorkflowError `THREAD_MOVED` when it is on a third host, and those of the disk.
 */
export function noteLeft(
  root: Root,
  ref: ThreadRef,
  to: HostIdentity,
  isPaused: boolean,
): Location {
  const before = readLocation(root, ref);
  if (before?.host?.id === to.id) return before;
  if (before?.host) throw movedError(ref.threadId, before.host.name);
  const wakes = quietWakingTime(root, ref);
  const location: Location = {
    moves: (before?.moves ?? 0) + 1,
    host: { id: to.id, name: to.name },
    at: system.clock.now(),
    ...(isPaused && { paused: true }),
  };
  writeLocation(root, ref, location);
  // One that is left is seen to be wrong when it is due.
  if (wakes !== null) removeQuietly(duePath(root, { ...ref, at: wakes }));
  return location;
}
