import { isWorkflowError } from "../../contract/error.ts";
import type {
  AnswerRequest,
  Controlled,
  Durability,
  InputRequest,
  RemoveRequest,
  ResumeRequest,
} from "../../control/control.ts";
import type { ThreadCommand } from "../../host/host.ts";
import { takeLock } from "../../disk/lock.ts";
import { dataPath, lockPath, type Root, workerInfoPath } from "../../disk/paths.ts";
import { checkHere, hasTaken } from "../../disk/threads.ts";
import { notePaused } from "../../disk/paused.ts";
import { readInfo } from "../../disk/thread-info.ts";
import { checkPausable } from "../../worker/refusal.ts";
import { requestIdOf } from "../../record/selection.ts";
import { type ThreadRef, type ThreadView } from "../../record/thread.ts";
import type { Environment } from "../../system/port.ts";
import { system } from "../../system/system.ts";
import { isAlive, readWorkerInfo } from "../../worker/worker-info.ts";
import { checkAnswerer } from "../threads/answerer.ts";
import { probe } from "./live.ts";
import { surroundingsOf } from "./surroundings.ts";
import { readView } from "../threads/view.ts";
import { removeRunFolder, runFolder } from "../../sandbox/run-folder.ts";
import { checkUnlocked } from "../upkeep/worktrees.ts";
import {
  ask,
  askAgain,
  askWorker,
  type ControlRequest,
  isLost,
  type Reply,
  silentWorker,
} from "./worker-client.ts";
import { threadOpen } from "../../host/errors.ts";
import { workerOutOfSight } from "../errors.ts";
import { corruptError, endedError, notFound } from "../../record/errors.ts";

/** @see Host.control */
export async function control(
  root: Root,
  ref: ThreadRef,
  command: ThreadCommand,
): Promise<Controlled & Partial<Killed>> {
  checkHere(root, ref);
  switch (command.kind) {
    case "pause":
      return await pauseThread(root, ref);
    case "answer":
      checkAnswerer(root);
      return await resumeThread(root, ref, command);
    case "resume":
      return await resumeThread(root, ref, command);
    case "kill":
      return await killThread(root, ref, command);
  }
}

/**
 * Stops a running thread at its next yield; until then its status is `running`. A sleeping thread that is paused does
 * not wake.
 */
export async function pauseThread(root: Root, ref: ThreadRef): Promise<Controlled> {
  checkOpen(root, await readView(root, ref));
  const reply = await askListening<Controlled>(root, ref.hash, toThread("POST", ref, "pause"));
  if (reply.kind === "reply") return reply.value;
  checkOpen(root, await readView(root, ref));
  const thread = readInfo(root, ref, null);
  if (!thread) throw notFound(ref.threadId);
  checkPausable(thread);
  // A worker that starts to drive the thread meanwhile sees the note at its next step.
  notePaused(root, ref, true);
  return { threadId: ref.threadId };
}

/**
 * Continues a paused thread, restarts an interrupted thread from its committed steps, or answers a waiting thread. A
 * repeated answer with the same `meta.requestId` gets the first response.
 */
export async function resumeThread(
  root: Root,
  ref: ThreadRef,
  {
    env,
    durability,
    input,
    question,
  }: { env: Environment; durability?: Durability; input?: InputRequest; question?: number },
): Promise<Controlled> {
  const surroundings = await surroundingsOf(root, ref, env);
  const body = { ...surroundings, durability, input, question } satisfies Partial<AnswerRequest>;
  const request = { ...toThread("POST", ref, input ? "input" : "resume"), body };
  const { threadId, hash } = ref;
  // A live worker reads the log itself; a new worker is started only for a thread that can continue.
  const reply = await askListening<Controlled>(root, hash, request);
  if (reply.kind === "reply") return reply.value;
  const mayRepeat = input === undefined || requestIdOf(input) !== undefined;
  if (reply.kind === "lost" && !mayRepeat) throw reply.error;
  const view = await readView(root, ref);
  if (input && hasTaken(root, ref, input)) return { threadId };
  checkOpen(root, view);
  if (!mayRepeat) return askWorker(root, hash, request);
  const hasBegun = (refusal: string) => (refusal === "ALREADY_RUNNING" ? { threadId } : null);
  return askAgain(root, hash, request, { done: hasBegun, wasLost: reply.kind === "lost" });
}

type Asked<T> = Exclude<Reply<T>, { kind: "silent" }> | { kind: "lost"; error: unknown };

/** Sends a request to the worker that listens, if any. @throws WorkflowError the worker's error, `WORKER_SILENT`. */
async function askListening<T>(
  root: Root,
  hash: string,
  request: ControlRequest,
): Promise<Asked<T>> {
  try {
    const reply = await ask<T>(root, hash, request);
    if (reply.kind !== "silent") return reply;
  } catch (error) {
    if (isLost(error)) return { kind: "lost", error };
    throw error;
  }
  throw silentWorker(root, hash);
}

const toThread = (
  method: ControlRequest["method"],
  { threadId }: ThreadRef,
  verb?: string,
): ControlRequest => ({ method, path: `/threads/${threadId}${verb ? `/${verb}` : ""}` });

/** Checks that a thread can change. @throws WorkflowError `THREAD_ENDED`, `LOG_CORRUPT` */
function checkOpen(root: Root, view: ThreadView): void {
  const { threadId, hash, status } = view;
  if (view.status === "corrupt") throw corruptError(dataPath(root, hash, threadId), view.broken);
  if ("result" in view) throw endedError(threadId, view.result.reason ?? status);
}

/** The timeout of requests before a forced kill. */
const forcedTimeoutMs = 2_000;
const deathTimeoutMs = 5_000;

/** The result of a kill; `resumed` lists the other threads that a forced kill resumed. */
type Killed = Controlled & { resumed: string[] };

/**
 * Ends a thread. Its end record is durable on return. `force` ends an unresponsive worker with all of its processes and
 * resumes its other threads with `env`. This includes a worker that an ended thread still blocks in its `finally`.
 */
export async function killThread(
  root: Root,
  ref: ThreadRef,
  { force = false, env = {} }: { force?: boolean; env?: Environment } = {},
): Promise<Killed> {
  const view = await readView(root, ref);
  if (force && (await isStuckIn(root, ref))) return await endStuck(root, view, env);
  // A worker may still drive a corrupt thread, and would not exit.
  const live = view.status === "corrupt" ? await askLive(root, ref) : null;
  if (live) return live;
  checkOpen(root, view);
  const request = {
    ...toThread("POST", ref, "kill"),
    ...(force && { timeoutMs: forcedTimeoutMs }),
  };
  const isKilled = async (refusal: string) =>
    refusal === "THREAD_ENDED" && (await readView(root, ref)).status === "killed"
      ? { threadId: ref.threadId }
      : null;
  const send = async () => {
    const done = await askAgain<Controlled>(root, ref.hash, request, { done: isKilled });
    return { ...done, resumed: [] };
  };
  try {
    return await send();
  } catch (error) {
    const code = force && isWorkflowError(error) ? error.code : null;
    // The worker that blocked while loading has been ended. The next worker can end the thread without the bundle.
    if (code === "BUNDLE_LOAD_FAILED") return await send();
    if (code !== "WORKER_SILENT") throw error;
  }
  return await endStuck(root, view, env);
}

async function askLive(root: Root, ref: ThreadRef): Promise<Killed | null> {
  const reply = await ask<Controlled>(root, ref.hash, toThread("POST", ref, "kill"));
  return reply.kind === "reply" ? { ...reply.value, resumed: [] } : null;
}

/** Whether the thread's worker drives it and does not respond. */
async function isStuckIn(root: Root, { hash, threadId }: ThreadRef): Promise<boolean> {
  const worker = readWorkerInfo(workerInfoPath(root, hash));
  if (!worker?.live.includes(threadId) || !isAlive(worker.identity)) return false;
  const reply = await probe(root, hash, forcedTimeoutMs);
  return reply === null || reply.kind === "silent";
}

/**
 * Ends the worker, then the thread unless it has ended, and resumes the worker's other threads. Repeats requests,
 * because the system closes a dead process's files in sequence: its socket may accept a request after its lock is free.
 */
async function endStuck(root: Root, view: ThreadView, env: Environment): Promise<Killed> {
  const { hash, threadId } = view;
  const siblings = await endWorker(root, hash);
  const isOpen = !("result" in view) && view.status !== "corrupt";
  const killed = isOpen
    ? await askAgain<Controlled>(root, hash, toThread("POST", view, "kill"))
    : { threadId };
  const resumed: string[] = [];
  for (const sibling of siblings) {
    if (sibling === threadId) continue;
    const ref = { hash, threadId: sibling };
    const isResumed = await resumeSibling(root, ref, env).catch(() => false);
    if (isResumed) resumed.push(sibling);
  }
  return { ...killed, resumed };
}

async function resumeSibling(root: Root, ref: ThreadRef, env: Environment): Promise<true> {
  const body: ResumeRequest = await surroundingsOf(root, ref, env);
  await askAgain(root, ref.hash, { ...toThread("POST", ref, "resume"), body });
  return true;
}

/** Ends the process that holds a hash's lock and returns the threads that it drove. */
async function endWorker(root: Root, hash: string): Promise<string[]> {
  const worker = readWorkerInfo(workerInfoPath(root, hash));
  if (worker && isAlive(worker.identity)) {
    system.processes.kill(worker.identity.pid);
    const lock = takeLock(lockPath(root, hash), deathTimeoutMs);
    lock?.release();
    if (lock) return worker.live;
  }
  throw workerOutOfSight(hash);
}

/**
 * Moves a thread to the trash and removes its cache folder. Its worktrees are removed when the trash is emptied. A
 * thread that runs, is paused or waits requires `force`, which kills it first. @throws WorkflowError `WORKTREE_LOCKED`.
 */
export async function removeThread(
  root: Root,
  ref: ThreadRef,
  { force = false }: { force?: boolean } = {},
): Promise<Controlled & { inTrash: true }> {
  const { status } = await readView(root, ref);
  const open = status === "running" || status === "paused" || status === "waiting";
  if (open && !force) throw threadOpen(ref.threadId, status);
  checkUnlocked(root, ref.threadId);
  const body: RemoveRequest = { force };
  const isGone = (refusal: string) =>
    refusal === "THREAD_NOT_FOUND" ? { threadId: ref.threadId } : null;
  const request = { ...toThread("DELETE", ref), body };
  const removed = await askAgain<Controlled>(root, ref.hash, request, { done: isGone });
  removeRunFolder(runFolder(process.env, ref.threadId));
  return { ...removed, inTrash: true };
}
