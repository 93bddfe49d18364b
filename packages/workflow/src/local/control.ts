import { WorkflowError } from "../contract/error.ts";
import type {
  AnswerRequest,
  Controlled,
  Durability,
  InputRequest,
  RemoveRequest,
  ResumeRequest,
} from "../control/control.ts";
import type { Environment, ThreadCommand } from "../host/host.ts";
import { takeLock } from "../storage/lock.ts";
import { dataPath, lockPath, type Root, workerInfoPath } from "../storage/paths.ts";
import { hasTaken } from "../thread/selection.ts";
import type { Status, ThreadRef } from "../thread/thread.ts";
import { endGroup, isAlive, readWorkerInfo } from "../worker/worker-info.ts";
import { definedEnv } from "./start.ts";
import { breakOf, readView } from "./threads.ts";
import { ask, askWorker, type ControlRequest } from "./worker-client.ts";

/** @see Host.control */
export async function control(
  root: Root,
  ref: ThreadRef,
  command: ThreadCommand,
): Promise<{ threadId: string; resumed?: string[] }> {
  switch (command.kind) {
    case "pause":
      return await pauseThread(root, ref);
    case "resume":
      return await resumeThread(root, ref, { env: command.env, durability: command.durability });
    case "answer": {
      const { env, durability, input } = command;
      return await resumeThread(root, ref, { env, durability, input });
    }
    case "kill":
      return await killThread(root, ref, { force: command.force, env: command.env });
  }
}

/** How a thread goes on: with which environment, which durability, and what answer to its question. */
export type ResumeOptions = {
  env: Environment;
  durability?: Durability;
  input?: InputRequest;
};

/**
 * Stops a running thread at its next yield. Until then it is seen as `running`.
 *
 * @throws WorkflowError `THREAD_ENDED`, `LOG_CORRUPT`, `NOT_RUNNING` when no live worker drives it.
 */
export async function pauseThread(root: Root, ref: ThreadRef): Promise<Controlled> {
  const { status } = await readView(root, ref);
  checkOpen(root, ref, status);
  const reply = await ask<Controlled>(root, ref.hash, toThread("POST", ref, "pause"));
  if (reply.kind === "reply") return reply.value;
  throw notRunning(ref, status);
}

/**
 * Lets a paused thread go on, starts an interrupted one again from its committed steps, or answers a
 * waiting one. An answer with a `meta.requestId` that was taken before is answered as it was then.
 *
 * @throws WorkflowError `THREAD_ENDED`, `ALREADY_RUNNING`, `WAITING`, `NOT_WAITING`, `ANSWER_TOKEN`,
 * `ANSWER_LATE`, `ANSWER_INVALID`, `LOG_CORRUPT`.
 */
export async function resumeThread(
  root: Root,
  ref: ThreadRef,
  options: ResumeOptions,
): Promise<Controlled> {
  const request = resumeRequest(ref, options);
  // A live worker reads the log itself, and one is started only for a thread that can go on.
  const reply = await ask<Controlled>(root, ref.hash, request);
  if (reply.kind === "reply") return reply.value;
  const { status } = await readView(root, ref);
  if (options.input && hasTaken(root, ref, options.input)) return { threadId: ref.threadId };
  checkOpen(root, ref, status);
  return askWorker(root, ref.hash, request);
}

function resumeRequest(ref: ThreadRef, { env, durability, input }: ResumeOptions): ControlRequest {
  const surroundings: ResumeRequest = {
    env: definedEnv(env),
    ...(durability ? { durability } : {}),
  };
  if (!input) return { ...toThread("POST", ref, "resume"), body: surroundings };
  const body: AnswerRequest = { ...surroundings, input };
  return { ...toThread("POST", ref, "input"), body };
}

/** A request about one thread. */
export const toThread = (
  method: ControlRequest["method"],
  { threadId }: ThreadRef,
  verb?: string,
): ControlRequest => ({ method, path: `/threads/${threadId}${verb ? `/${verb}` : ""}` });

/** @throws WorkflowError `THREAD_ENDED` or `LOG_CORRUPT` when nothing can be done to the thread. */
export function checkOpen(root: Root, ref: ThreadRef, status: Status): void {
  if (status === "completed" || status === "failed" || status === "killed") {
    throw new WorkflowError({
      code: "THREAD_ENDED",
      message: `${ref.threadId} has ended (${status}), and an ended log is final`,
      hint: `take it up in a new thread: uncaged-workflow retry ${ref.threadId}, or fork`,
    });
  }
  if (status === "corrupt") throw corrupt(root, ref);
}

/** The error that a thread's log is broken, naming file and line. */
export function corrupt(root: Root, ref: ThreadRef): WorkflowError {
  const broken = breakOf(root, ref);
  const where = broken
    ? `${broken.path}:${broken.line}: ${broken.reason} (byte ${broken.offset})`
    : dataPath(root, ref.hash, ref.threadId);
  return new WorkflowError({
    code: "LOG_CORRUPT",
    message: where,
    hint: "nothing was changed; fork the steps before that line: uncaged-workflow fork --at-step N",
  });
}

function notRunning({ threadId }: ThreadRef, status: Status): WorkflowError {
  return new WorkflowError({
    code: "NOT_RUNNING",
    message: `${threadId} does not run: it is ${status}`,
    hint: "see what runs: uncaged-workflow ps",
  });
}

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
  const { status } = await readView(root, ref);
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
  const worker = readWorkerInfo(workerInfoPath(root, hash));
  if (!worker?.live.includes(threadId) || !isAlive(worker.identity)) return false;
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
  const worker = readWorkerInfo(workerInfoPath(root, hash));
  if (!worker || !isAlive(worker.identity)) throw outOfSight(hash);
  endGroup(worker.identity.pid);
  const lock = takeLock(lockPath(root, hash), deathTimeoutMs);
  if (!lock) throw outOfSight(hash);
  lock.release();
  return worker.live;
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
    message: `the worker of ${hash} does not answer, and its process can't be seen from here`,
    hint: "it may run in another container or as another user: end it there",
  });
}

/**
 * Removes a thread's logs. One that runs, is paused or waits for an answer is removed only with
 * `force`, which kills it first.
 *
 * @throws WorkflowError `THREAD_RUNNING`, `THREAD_NOT_FOUND` (missing).
 */
export async function removeThread(
  root: Root,
  ref: ThreadRef,
  { force = false }: { force?: boolean } = {},
): Promise<Controlled> {
  const { status } = await readView(root, ref);
  const open = status === "running" || status === "paused" || status === "waiting";
  if (open && !force) {
    throw new WorkflowError({
      code: "THREAD_RUNNING",
      message: `${ref.threadId} is ${status}`,
      hint: "kill it and remove it at once: --force",
    });
  }
  const body: RemoveRequest = { force };
  return await askWorker(root, ref.hash, { ...toThread("DELETE", ref), body });
}
