import { WorkflowError } from "../contract/error.ts";
import type { Controlled, ResumeRequest } from "../control/control.ts";
import type { Environment } from "../host/host.ts";
import { takeLock } from "../storage/lock.ts";
import { workerInfoPath, lockPath, type Root } from "../storage/paths.ts";
import type { Status, ThreadRef } from "../thread/thread.ts";
import { endGroup, isAlive, readWorkerInfo } from "../worker/worker-info.ts";
import { ask, type ControlRequest } from "./connect.ts";
import { checkOpen, toThread } from "./resume.ts";
import { askWorker } from "./spawn.ts";
import { definedEnv } from "./start.ts";
import { readThread } from "./threads.ts";

const killTimeoutMs = 5_000;
const forcedTimeoutMs = 2_000;
const deathTimeoutMs = 5_000;
const canEnd: ReadonlySet<Status> = new Set(["running", "paused", "waiting", "interrupted"]);

/** `force` ends a worker that does not answer, with everything it runs; `env` is for its siblings. */
export type KillOptions = { force?: boolean; env?: Environment };

/** What a kill did; `resumed` names the other threads that a forced kill took up again. */
export type Killed = Controlled & { resumed: string[] };

/**
 * Ends a thread that has not ended: its end record is on the disk when this returns. One that has ended
 * may still block its worker, in its `finally`: then `force` ends that worker.
 *
 * @throws WorkflowError `THREAD_ENDED`, `LOG_CORRUPT`, `WORKER_SILENT` (use `force`).
 */
export async function killThread(
  root: Root,
  ref: ThreadRef,
  { force = false, env = {} }: KillOptions = {},
): Promise<Killed> {
  const { status } = await readThread(root, ref);
  if (force && (await isStuckIn(root, ref))) return await endStuck(root, ref, status, env);
  checkOpen(root, ref, status);
  const request = toThread("POST", ref, "kill");
  const timeoutMs = force ? forcedTimeoutMs : killTimeoutMs;
  try {
    const killed = await askWorker<Controlled>(root, ref.hash, { ...request, timeoutMs });
    return { ...killed, resumed: [] };
  } catch (error) {
    if (!force || !isSilent(error)) throw error;
  }
  return await endStuck(root, ref, status, env);
}

/** Whether the thread's worker holds it and does not answer. */
async function isStuckIn(root: Root, { hash, threadId }: ThreadRef): Promise<boolean> {
  const holder = readWorkerInfo(workerInfoPath(root, hash));
  if (!holder?.live.includes(threadId) || !isAlive(holder.identity)) return false;
  const request = { method: "GET", path: "/threads", timeoutMs: forcedTimeoutMs } as const;
  const reply = await ask(root, hash, request).catch(() => null);
  return reply?.kind === "silent";
}

/** Ends the worker, then the thread unless it has ended, and resumes the other threads. */
async function endStuck(
  root: Root,
  ref: ThreadRef,
  status: Status,
  env: Environment,
): Promise<Killed> {
  const { hash, threadId } = ref;
  const siblings = await endWorker(root, hash);
  if (canEnd.has(status)) await askNext(root, hash, toThread("POST", ref, "kill"));
  const others = siblings.filter((sibling) => sibling !== threadId);
  return { threadId, resumed: await takeUp(root, hash, others, { env: definedEnv(env) }) };
}

/**
 * Asks the worker that comes after one that was ended. The system closes what a process held one by
 * one: for a moment the dead one's socket takes a request when its lock is free already.
 */
async function askNext(root: Root, hash: string, request: ControlRequest): Promise<Controlled> {
  try {
    return await askWorker<Controlled>(root, hash, request);
  } catch (error) {
    if (!hasCode(error, "WORKER_LOST")) throw error;
    return await askWorker<Controlled>(root, hash, request);
  }
}

const isSilent = (error: unknown): boolean => hasCode(error, "WORKER_SILENT");

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof WorkflowError && error.code === code;

/** Ends the process that holds a hash's lock and returns the threads that it was driving. */
async function endWorker(root: Root, hash: string): Promise<string[]> {
  const holder = readWorkerInfo(workerInfoPath(root, hash));
  if (!holder || !isAlive(holder.identity)) throw outOfSight(hash);
  endGroup(holder.identity.pid);
  const lock = takeLock(lockPath(root, hash), deathTimeoutMs);
  if (!lock) throw outOfSight(hash);
  lock.release();
  return holder.live;
}

async function takeUp(
  root: Root,
  hash: string,
  threadIds: string[],
  body: ResumeRequest,
): Promise<string[]> {
  const resumed: string[] = [];
  for (const threadId of threadIds) {
    const request = { ...toThread("POST", { hash, threadId }, "resume"), body };
    const done = await askNext(root, hash, request).catch(() => null);
    if (done) resumed.push(threadId);
  }
  return resumed;
}

function outOfSight(hash: string): WorkflowError {
  return new WorkflowError({
    code: "WORKER_OUT_OF_SIGHT",
    kind: "failed",
    message: `the worker of ${hash} does not answer, and its process can't be seen from here`,
    hint: "it may run in another container or as another user: end it there",
  });
}
