import { sleepsUntil } from "../contract/wait.ts";
import type { LiveThread } from "../control/control.ts";
import type { ThreadEngine } from "../engine/engine.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { InfoLog } from "./info.ts";

/** A driven thread. */
export type Live = {
  ref: ThreadRef;
  engine: ThreadEngine;
  info: InfoLog;
  workflow: string;
  /** Returns the running role, if known. */
  role: () => string | null;
  since: number;
  fail: (thrown: unknown) => void;
  /** Resolves when the thread is no longer driven and its log is closed. */
  gone: Promise<void>;
};

/** A worker does not exit while a thread is due within this time, in milliseconds. */
const soonMs = 15 * 60_000;

/** Whether a thread runs, is paused, or continues soon without an answer. */
export const isSoonAtWork = ({ status, wakesAt }: ThreadEngine, now: number): boolean =>
  status !== "waiting" || (wakesAt !== null && wakesAt <= now + soonMs);

// `now` and `since` are times of the same clock.
function liveThreadOf(
  threadId: string,
  { engine, workflow, role: running, since }: Live,
  now: number,
): LiveThread {
  const { last, steps } = engine;
  const elapsedMs = Math.round(now - since);
  // A paused thread does not wake from its sleep.
  const isHeld = engine.isPausing && sleepsUntil(last) !== null;
  const status = isHeld ? "paused" : engine.status;
  const until = status === "waiting" ? sleepsUntil(last) : null;
  const sleep = until === null ? {} : { sleepingUntil: until };
  const role = running() ?? last?.role ?? null;
  const pausing = engine.isPausing && status === "running" ? ({ pausing: true } as const) : {};
  return {
    threadId,
    workflow,
    status,
    role,
    steps,
    elapsedMs,
    ...engine.times,
    ...sleep,
    ...pausing,
  };
}

/** A thread being created, and the start of its creation by the monotonic clock. */
export type Creating = { workflow: string; since: number };

const newThreadOf = (threadId: string, { workflow, since }: Creating, now: number): LiveThread => {
  const elapsedMs = Math.round(now - since);
  const times = { workedMs: elapsedMs, waitedMs: 0 };
  return { threadId, workflow, status: "running", role: null, steps: 0, elapsedMs, ...times };
};

/** The reports of driven threads and of threads that are being created. */
export function liveThreads(
  live: ReadonlyMap<string, Live>,
  creating: ReadonlyMap<string, Creating>,
  now: number,
): LiveThread[] {
  const driven = [...live].filter(([, { engine }]) => engine.isDriven);
  const started = [...creating].filter(([threadId]) => !live.has(threadId));
  return [
    ...driven.map(([threadId, one]) => liveThreadOf(threadId, one, now)),
    ...started.map(([threadId, one]) => newThreadOf(threadId, one, now)),
  ];
}
