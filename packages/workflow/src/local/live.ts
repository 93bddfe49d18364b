import { readdirSync } from "node:fs";
import type { LiveThread, LiveThreads } from "../control/control.ts";
import type { WorkerState } from "../host/host.ts";
import { outlineLog } from "../log/log.ts";
import { systemCode } from "../storage/disk-error.ts";
import { dataPath, isHash, type Root, runDir, workerInfoPath } from "../storage/paths.ts";
import type { LiveRow, ThreadRef } from "../thread/thread.ts";
import { readWorkerInfo } from "../worker/worker-info.ts";
import { ask } from "./worker-client.ts";

/** How long a worker may take to list what it runs. */
const answerTimeoutMs = 2_000;

/**
 * What a hash's worker reports of its threads, or null when none is alive. A worker that has the
 * connection and does not answer is alive (the system would refuse a dead one's) but stuck: its
 * threads are then those that it noted and that have no end. So is one whose answer a bundle has spoilt.
 */
export async function askLive(root: Root, hash: string): Promise<LiveThreads | null> {
  const request = { method: "GET", path: "/threads", timeoutMs: answerTimeoutMs } as const;
  const reply = await ask<LiveThreads>(root, hash, request).catch(() => null);
  if (reply?.kind === "reply" && Array.isArray(reply.value?.threads)) return reply.value;
  return reply === null || reply.kind === "nobody" ? null : stuck(root, hash);
}

function stuck(root: Root, hash: string): LiveThreads | null {
  const worker = readWorkerInfo(workerInfoPath(root, hash));
  if (!worker) return null;
  const threads = worker.live.map((threadId) => fromLog(root, { hash, threadId }));
  return { pid: worker.identity.pid, threads: threads.filter((thread) => thread !== null) };
}

// What can't be asked is read: a thread whose log has its end is only closing, and runs no more.
function fromLog(root: Root, { hash, threadId }: ThreadRef): LiveThread | null {
  try {
    const log = outlineLog(dataPath(root, hash, threadId));
    if (log.kind !== "outline" || log.end) return null;
    const { start, steps, last } = log;
    return {
      threadId,
      workflow: start.name,
      status: "running",
      role: last?.role ?? null,
      steps,
      elapsedMs: Math.max(0, Date.now() - start.timestamp),
    };
  } catch {
    return null;
  }
}

/** A live thread and the process that runs it. */
export type Alive = LiveThread & { pid: number };

async function drivenBy(root: Root, hash: string): Promise<ReadonlyMap<string, Alive>> {
  const live = await askLive(root, hash);
  const { pid, threads } = live ?? { pid: 0, threads: [] };
  return new Map(threads.map((thread) => [thread.threadId, { ...thread, pid }]));
}

type Answer = { askedAt: number; threads: Promise<ReadonlyMap<string, Alive>> };

/** What the live workers report of their threads, each asked once for all who want to know at the time. */
export class LiveWorkers {
  readonly #root: Root;
  readonly #freshMs: number;
  readonly #answers = new Map<string, Answer>();

  /** An answer counts for so many milliseconds. */
  constructor(root: Root, freshMs = Number.POSITIVE_INFINITY) {
    this.#root = root;
    this.#freshMs = freshMs;
  }

  /**
   * What a thread's worker reports of it; null when nobody drives it. `since` is when the thread changed
   * last (`performance.now()`): an older answer counts only when it says that the thread is running.
   */
  async find({ hash, threadId }: ThreadRef, since = 0): Promise<Alive | null> {
    const known = this.#answers.get(hash);
    if (known && performance.now() - known.askedAt < this.#freshMs) {
      const found = (await known.threads).get(threadId) ?? null;
      if (known.askedAt >= since || found?.status === "running") return found;
    }
    return (await this.#ask(hash).threads).get(threadId) ?? null;
  }

  /** Forgets what a hash's worker reported: a command has changed its threads. */
  forget(hash: string): void {
    this.#answers.delete(hash);
  }

  #ask(hash: string): Answer {
    const answer = { askedAt: performance.now(), threads: drivenBy(this.#root, hash) };
    this.#answers.set(hash, answer);
    return answer;
  }
}

/** The threads that live workers drive, oldest first. */
export async function listLive(root: Root): Promise<LiveRow[]> {
  const answers = await Promise.all(
    hashesWithSocket(root).map(async (hash) => ({ hash, live: await askLive(root, hash) })),
  );
  const rows = answers.flatMap(({ hash, live }) =>
    (live?.threads ?? []).map(
      ({ threadId, workflow, status, steps, role, elapsedMs }): LiveRow => ({
        threadId,
        workflow,
        hash,
        status,
        pid: live?.pid ?? 0,
        steps,
        role,
        elapsedMs,
      }),
    ),
  );
  return rows.sort((a, b) => (a.threadId < b.threadId ? -1 : 1));
}

/** The hashes whose worker has, or had, a control socket. */
export function hashesWithSocket(root: Root): string[] {
  try {
    return readdirSync(runDir(root)).flatMap((name) => {
      const hash = name.slice(0, -".sock".length);
      return name.endsWith(".sock") && isHash(hash) ? [hash] : [];
    });
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

/** The workers that have a control socket in this storage root. It changes nothing. */
export async function listWorkers(root: Root): Promise<WorkerState[]> {
  return await Promise.all(
    hashesWithSocket(root).map(async (hash) => ({ hash, state: await stateOf(root, hash) })),
  );
}

async function stateOf(root: Root, hash: string): Promise<WorkerState["state"]> {
  const request = { method: "GET", path: "/threads", timeoutMs: answerTimeoutMs } as const;
  const reply = await ask<LiveThreads>(root, hash, request).catch(() => null);
  if (reply?.kind === "reply") return "answers";
  return reply?.kind === "silent" ? "silent" : "gone";
}
