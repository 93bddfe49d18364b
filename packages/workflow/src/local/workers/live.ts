import type { LiveThread, LiveThreads } from "../../control/control.ts";
import type { WorkerState } from "../../host/host.ts";
import { outlineLog } from "../../disk/log.ts";
import { dataPath, namesIn, type Root, runDir, workerInfoPath } from "../../disk/paths.ts";
import { isHash } from "../../contract/names.ts";
import { system } from "../../system/system.ts";
import type { LiveRow, ThreadRef } from "../../record/thread.ts";
import { timesAt } from "../../record/times.ts";
import { findOrphans } from "../../worker/orphans.ts";
import { isAlive, readWorkerInfo } from "../../worker/worker-info.ts";
import { requireLocks } from "../../disk/lock.ts";
import { ask, askOnce, type Reply } from "./worker-client.ts";

/** Queries a hash's worker for its threads; null when its response can't be read. */
export function probe(
  root: Root,
  hash: string,
  timeoutMs = probeMs,
): Promise<Reply<LiveThreads> | null> {
  return ask<LiveThreads>(root, hash, probing(timeoutMs)).catch(() => null);
}

const probeMs = 2_000;
const probing = (timeoutMs: number) => ({ method: "GET", path: "/threads", timeoutMs }) as const;

/**
 * Returns the threads that a hash's live worker drives. A worker that accepts the connection without responding, or
 * whose response is invalid, is stuck: its threads are then the threads in its notes whose log lacks an end record.
 */
export async function askLive(root: Root, hash: string): Promise<LiveRow[]> {
  const reply = await probe(root, hash);
  if (reply === null || reply.kind === "nobody") return [];
  const isSound = reply.kind === "reply" && Array.isArray(reply.value?.threads);
  const { pid, threads } = isSound ? reply.value : stuck(root, hash);
  return threads.map((thread) => ({ ...thread, hash, pid }));
}

function stuck(root: Root, hash: string): LiveThreads {
  const worker = readWorkerInfo(workerInfoPath(root, hash));
  const noted = worker?.live ?? [];
  const threads = noted.flatMap((threadId) => fromLog(root, { hash, threadId }));
  return { pid: worker?.identity.pid ?? 0, threads };
}

// A stuck worker does not respond, so read the log: a thread with an end is only closing.
function fromLog(root: Root, { hash, threadId }: ThreadRef): LiveThread[] {
  try {
    const log = outlineLog(dataPath(root, hash, threadId));
    if (log.kind !== "thread" || log.end) return [];
    const { start, steps, last, waitedMs } = log;
    const now = system.clock.now();
    const { timestamp: createdAt } = start;
    const elapsedMs = Math.max(0, now - createdAt);
    const known = { createdAt, updatedAt: (last ?? start).timestamp, waitedMs };
    const times = timesAt({ status: "running", ...known }, now);
    const role = last?.role ?? null;
    return [
      { threadId, workflow: start.name, status: "running", role, steps, elapsedMs, ...times },
    ];
  } catch {
    return [];
  }
}

/** Finds the driver of a thread: a live worker of this machine or of another host. */
export type Drivers = Pick<LiveWorkers, "find">;

type Answer = { askedAt: number; threads: Promise<ReadonlyMap<string, LiveRow>> };

/** The reports of live workers. Concurrent callers share one request per worker. */
export class LiveWorkers {
  readonly #root: Root;
  readonly #freshMs: number;
  readonly #answers = new Map<string, Answer>();

  /** `freshMs` is the time for which a report is valid, in milliseconds. */
  constructor(root: Root, freshMs = Number.POSITIVE_INFINITY) {
    this.#root = root;
    this.#freshMs = freshMs;
  }

  /**
   * Returns a worker's report of a thread; null when no worker drives it. `since` is the time of the thread's last
   * change (`clock.elapsed()`). An older report counts only if the thread runs in it, and the thread does not wait by
   * its log (`waits`).
   */
  async find({ hash, threadId }: ThreadRef, since = 0, waits = false): Promise<LiveRow | null> {
    const known = this.#answers.get(hash);
    if (known && system.clock.elapsed() - known.askedAt < this.#freshMs) {
      const found = (await known.threads).get(threadId) ?? null;
      if (known.askedAt >= since || (found?.status === "running" && !waits)) return found;
    }
    const askedAt = system.clock.elapsed();
    const threads = askLive(this.#root, hash).then(
      (rows) => new Map(rows.map((row) => [row.threadId, row])),
    );
    this.#answers.set(hash, { askedAt, threads });
    return (await threads).get(threadId) ?? null;
  }

  /** Drops a worker's report after a command changed its threads. */
  forget(hash: string): void {
    this.#answers.delete(hash);
  }
}

/** The threads that live workers drive, oldest first. */
export async function listLive(root: Root): Promise<LiveRow[]> {
  const rows = await Promise.all(hashesWithSocket(root).map((hash) => askLive(root, hash)));
  return rows.flat().sort((a, b) => (a.threadId < b.threadId ? -1 : 1));
}

const hashesWith = (root: Root, ending: ".sock" | ".holder"): string[] =>
  namesIn(runDir(root))
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
    .filter(isHash);

const hashesWithSocket = (root: Root): string[] => hashesWith(root, ".sock");

const states = { reply: "answers", silent: "silent" } as const;
/** Time for a starting worker to listen, or for an exiting worker to end, in milliseconds. */
const passingMs = 1_500;

/**
 * Lists the workers with a control socket in this storage root, including lost and stuck workers. Read-only.
 * @throws WorkflowError `NO_LOCKS` on a system where workers can't run.
 */
export async function listWorkers(root: Root): Promise<WorkerState[]> {
  if (system.files.exists(root)) requireLocks(root);
  const hashes = new Set([...hashesWithSocket(root), ...hashesWith(root, ".holder")]);
  const found = await Promise.all([...hashes].map((hash) => workerState(root, hash)));
  // An exiting worker has removed its socket meanwhile.
  const left = new Set(hashesWithSocket(root));
  return found.filter(({ hash, state }) => state !== "gone" || left.has(hash));
}

async function workerState(root: Root, hash: string): Promise<WorkerState> {
  const late = system.clock.elapsed() + passingMs;
  for (;;) {
    // Neither a starting nor an exiting worker listens.
    const reply = await askOnce<LiveThreads>(root, hash, probing(probeMs)).catch(() => null);
    const info = readWorkerInfo(workerInfoPath(root, hash));
    const runs = info !== null && isAlive(info.identity);
    const pid = runs ? info.identity.pid : null;
    if (reply?.kind !== "nobody") {
      return { hash, state: states[reply?.kind ?? "silent"], pid, orphans: [] };
    }
    if (!runs) return { hash, state: "gone", pid, orphans: findOrphans(info?.marks ?? []) };
    if (system.clock.elapsed() >= late) return { hash, state: "stuck", pid, orphans: [] };
    await system.clock.sleep(50);
  }
}
