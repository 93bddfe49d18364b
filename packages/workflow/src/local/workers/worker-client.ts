import { join } from "node:path";
import { type ErrorRecord, isWorkflowError, WorkflowError } from "../../contract/error.ts";
import { controlTimeoutMs, type Failure, requestText } from "../../control/control.ts";
import { diskError } from "../../disk/disk-error.ts";
import { openOwnFile, readOwnFile, writeAll } from "../../disk/files.ts";
import { type Root, runDir, socketName, workerInfoPath, workerLogPath } from "../../disk/paths.ts";
import { createRoot } from "../../disk/root.ts";
import { type Child, O_APPEND, O_CREAT, O_WRONLY, type SocketResponse } from "../../system/port.ts";
import { system } from "../../system/system.ts";
import { workerEnv } from "../../system/worker-env.ts";
import { isAlive, readWorkerInfo } from "../../worker/worker-info.ts";
import { loadBlocked } from "../../bundle/errors.ts";
import { workerFailed, workerLost, workerSilent } from "../errors.ts";

/** A request to the control socket of a worker. */
export type ControlRequest = {
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: unknown;
  /** {@link controlTimeoutMs} by default. */
  timeoutMs?: number;
};

/**
 * The outcome of a request: its reply; `nobody` when no worker listens, so the request had no effect and may be sent to
 * a new worker; or `silent` when a worker did not respond in time.
 */
export type Reply<T> = { kind: "reply"; value: T } | { kind: "nobody" } | { kind: "silent" };

/**
 * Sends one request to the worker of a hash. A live worker that does not listen is starting or exiting: the request is
 * then sent again until its timeout.
 *
 * @throws WorkflowError the worker's own error, `WORKER_LOST`, `VALUE_NOT_JSON` (usage).
 */
export async function ask<T>(root: Root, hash: string, request: ControlRequest): Promise<Reply<T>> {
  const began = system.clock.elapsed();
  for (;;) {
    const reply = await askOnce<T>(root, hash, request);
    if (reply.kind !== "nobody" || !isManned(root, hash)) return reply;
    const waited = system.clock.elapsed() - began;
    if (waited > timeoutOf(request)) return { kind: "silent" };
    await system.clock.sleep(pauseAfter(waited));
  }
}

const timeoutOf = ({ timeoutMs = controlTimeoutMs }: ControlRequest): number => timeoutMs;

/** Returns the pause before the next try, given the waiting time so far; both in milliseconds. */
const pauseAfter = (waited: number): number => Math.min(1 + waited / 20, 25);

/** Whether the worker that holds the hash's lock is alive. */
function isManned(root: Root, hash: string): boolean {
  const worker = readWorkerInfo(workerInfoPath(root, hash));
  return worker !== null && isAlive(worker.identity);
}

/** Sends one request like {@link ask}, but does not wait for a worker that does not listen yet. */
export async function askOnce<T>(
  root: Root,
  hash: string,
  request: ControlRequest,
): Promise<Reply<T>> {
  const socket = join(runDir(root), socketName(hash));
  if (!system.files.exists(socket)) return { kind: "nobody" };
  const { method, path } = request;
  const given = {
    method,
    path,
    ...(request.body !== undefined && { body: requestText(request.body) }),
  };
  const sent = system.sockets.request(socket, given, timeoutOf(request));
  const outcome = await sent.catch((error: unknown) => {
    throw diskError(error, "reach the worker at", socket);
  });
  if (outcome.kind === "lost") throw workerLost(hash, outcome.error);
  return outcome.kind === "response" ? replyOf<T>(hash, outcome.response) : outcome;
}

function replyOf<T>(hash: string, { status, body }: SocketResponse): Reply<T> {
  let value: T | Failure;
  try {
    value = JSON.parse(body) as T | Failure;
  } catch (error) {
    throw workerLost(hash, error);
  }
  if (status < 300) return { kind: "reply", value: value as T };
  const { error } = value as Failure;
  if (error.code === "WORKER_CLOSING") return { kind: "nobody" };
  throw new WorkflowError(error);
}

/** The environment variable for a worker's idle timeout in milliseconds, 3,000 by default. */
export const idleVariable = "UNCAGED_WORKFLOW_IDLE_MS";

const defaultIdleMs = 3_000;
const busyCode = 75;
const mostCandidates = 20;
const largestWorkerLog = 1024 * 1024 * 1024;

/** Starts a worker process of a hash, detached and without a pipe. It exits with 75 if it does not get the lock. */
export function spawnWorker(root: Root, hash: string): Child {
  createRoot(root);
  const output = openWorkerLog(workerLogPath(root, hash));
  try {
    return system.processes.startWorker([root, hash, String(idleMs())], {
      folder: runDir(root),
      env: workerEnv(() => system.random()),
      output,
    });
  } finally {
    system.files.close(output);
  }
}

function idleMs(): number {
  const given = Number(process.env[idleVariable] ?? defaultIdleMs);
  return Number.isFinite(given) && given >= 0 ? given : defaultIdleMs;
}

function openWorkerLog(path: string): number {
  try {
    return openOwnFile(path, O_WRONLY | O_APPEND | O_CREAT);
  } catch (error) {
    throw diskError(error, "open", path);
  }
}

/**
 * Sends a request to the worker of a hash, and starts a worker when none listens. If several workers start at once, the
 * lock decides which worker stays.
 *
 * @throws WorkflowError the worker's own error, `WORKER_SILENT`, `WORKER_FAILED`.
 */
export async function askWorker<T>(root: Root, hash: string, request: ControlRequest): Promise<T> {
  const began = system.clock.elapsed();
  let candidate: Child | null = null;
  let candidates = 0;
  for (;;) {
    const reply = await ask<T>(root, hash, request);
    if (reply.kind === "reply") return reply.value;
    if (reply.kind === "silent") throw silentWorker(root, hash);
    if (!candidate || hasEnded(candidate)) {
      if (candidate && hasFailed(candidate)) throw failedToStart(root, hash, candidate);
      if (candidates >= mostCandidates) throw workerSilent(hash, controlTimeoutMs);
      if (candidate) await system.clock.sleep(20 * candidates);
      candidate = spawnWorker(root, hash);
      candidates += 1;
    }
    const waited = system.clock.elapsed() - began;
    if (waited > controlTimeoutMs) throw workerSilent(hash, controlTimeoutMs);
    await system.clock.sleep(pauseAfter(waited));
  }
}

/**
 * `wasLost`: whether the worker was lost during an earlier request. `done` returns the reply for an error code with
 * which the next worker refuses the request because the lost worker had already done the work.
 */
type Again<T> = {
  wasLost?: boolean;
  done?: (refusal: string) => T | null | Promise<T | null>;
};

/**
 * Sends an idempotent request like {@link askWorker}. If the worker is lost before it responds, asks the next worker.
 */
export async function askAgain<T>(
  root: Root,
  hash: string,
  request: ControlRequest,
  { wasLost = false, done = () => null }: Again<T> = {},
): Promise<T> {
  try {
    return await askWorker<T>(root, hash, request);
  } catch (error) {
    if (!wasLost && isLost(error))
      return await askAgain(root, hash, request, { wasLost: true, done });
    const reply = wasLost && isWorkflowError(error) ? await done(error.code) : null;
    if (reply === null) throw error;
    return reply;
  }
}

/** Whether a worker ended before it responded: the request may or may not have had its effect. */
export const isLost = (error: unknown): boolean =>
  isWorkflowError(error) && error.code === "WORKER_LOST";

/** Returns the error of a worker that does not respond. Kills a worker that is stuck in loading its bundle. */
export const silentWorker = (root: Root, hash: string): WorkflowError =>
  endStuckLoader(root, hash) ?? workerSilent(hash, controlTimeoutMs);

// A worker records each thread before it opens the thread's log. A silent worker without recorded threads is stuck in
// its bundle's top level, and a forced kill of a thread can't reach it.
function endStuckLoader(root: Root, hash: string): WorkflowError | null {
  const worker = readWorkerInfo(workerInfoPath(root, hash));
  if (!worker || worker.drove || !isAlive(worker.identity)) return null;
  system.processes.kill(worker.identity.pid);
  return loadBlocked(hash);
}

const hasEnded = ({ exitCode, signalCode }: Child): boolean =>
  exitCode !== null || signalCode !== null;

// A worker that did not get the lock, was asked to close or was killed has not failed: the next worker may respond.
const hasFailed = ({ exitCode }: Child): boolean =>
  exitCode !== null && exitCode !== 0 && exitCode !== busyCode;

function failedToStart(root: Root, hash: string, { exitCode }: Child): WorkflowError {
  const path = workerLogPath(root, hash);
  const printed = new TextDecoder().decode(readOwnFile(path, largestWorkerLog) ?? undefined);
  const lines = printed.trimEnd().split("\n");
  const last = lines.at(-1) ?? "";
  if (last === "") checkRoom(path);
  const record = recordIn(last) ?? recordOf(lines.findLast((line) => causeLine.test(line)) ?? last);
  if (record.code !== "INTERNAL") return new WorkflowError(record);
  return workerFailed(hash, { code: exitCode, reason: record.message }, path);
}

// Skip the stack and the version with which Bun ends the report of an error or a crash.
const causeLine = /^(?:\w*error|panic[^:]*): /i;

const recordOf = (line: string): ErrorRecord => ({
  code: "INTERNAL",
  kind: "failed",
  message: line.slice(0, 300),
});

/** The error record on a line of a worker's log, or null if the line is not an error record. */
function recordIn(line: string): ErrorRecord | null {
  try {
    const record = JSON.parse(line) as ErrorRecord;
    return typeof record.code === "string" && typeof record.message === "string" ? record : null;
  } catch {
    return null;
  }
}

// A full disk may be the reason why the worker has logged nothing.
function checkRoom(path: string): void {
  const log = openWorkerLog(path);
  try {
    writeAll(log, Buffer.from("\n"));
  } catch (error) {
    throw diskError(error, "write", path);
  } finally {
    system.files.close(log);
  }
}
