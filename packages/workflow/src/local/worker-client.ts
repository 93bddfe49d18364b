import { join } from "node:path";
import { type ErrorRecord, isWorkflowError, WorkflowError } from "../contract/error.ts";
import { toJson } from "../contract/json.ts";
import {
  controlTimeoutMs,
  defaultMaxRounds,
  type Failure,
  type Started,
  type StartRequest,
} from "../control/control.ts";
import { prepareLog } from "../log/prepare.ts";
import { diskError } from "../storage/disk-error.ts";
import { makeFolder, openOwnFile, readOwnFile, removeQuietly, writeAll } from "../storage/files.ts";
import {
  dataPath,
  type Root,
  runDir,
  socketName,
  threadsDir,
  workerInfoPath,
  workerLogPath,
} from "../storage/paths.ts";
import { createRoot } from "../storage/root.ts";
import { type Child, O_APPEND, O_CREAT, O_WRONLY, type SocketResponse } from "../system/port.ts";
import {
  type PreparedLog,
  type PrewarmedWorker,
  workerEnv,
  type WorkerOrder,
} from "../system/prewarm.ts";
import { Overdue, whenOverdue } from "../system/overdue.ts";
import { system } from "../system/system.ts";
import { startRecord } from "../thread/start-record.ts";
import { isAlive, readWorkerInfo } from "../worker/worker-info.ts";

export type ControlRequest = {
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: unknown;
  /** How long the worker may take, {@link controlTimeoutMs} without it. */
  timeoutMs?: number;
  /** Whether what its disk makes a worker wait for counts too: it is only looked at. */
  isUrgent?: boolean;
};

/**
 * What came of a request: its reply; nobody listens (the request had no effect, and may be sent to a
 * new worker); or the worker has the connection and does not answer in time.
 */
export type Reply<T> = { kind: "reply"; value: T } | { kind: "nobody" } | { kind: "silent" };

/**
 * Sends one request to the worker of a hash, if one listens, or is alive and will listen or has ended within the time
 * that the request has (`whenOverdue`): a worker that was started with its first request may drive a thread before it listens.
 *
 * @throws WorkflowError what the worker answered, `WORKER_LOST`, `VALUE_NOT_JSON` (usage).
 */
export async function ask<T>(root: Root, hash: string, request: ControlRequest): Promise<Reply<T>> {
  const began = system.clock.elapsed();
  const overdue = new Overdue(timeOf(request), () => holderOf(root, hash, request));
  try {
    for (;;) {
      const reply = await askOnce<T>(root, hash, request);
      if (reply.kind !== "nobody" || !isManned(root, hash)) return reply;
      if (overdue.is) return { kind: "silent" };
      await system.clock.sleep(pauseAfter(system.clock.elapsed() - began));
    }
  } finally {
    overdue.end();
  }
}

const timeOf = ({ timeoutMs = controlTimeoutMs }: ControlRequest): number => timeoutMs;

/** The process that a request waits for, as far as it is known and its disk matters. */
function holderOf(root: Root, hash: string, { isUrgent }: ControlRequest): number | null {
  if (isUrgent) return null;
  return readWorkerInfo(workerInfoPath(root, hash))?.identity.pid ?? null;
}

/** When to look again for what one has waited for so many milliseconds. */
const pauseAfter = (waited: number): number => Math.min(1 + waited / 20, 25);

/** Whether the worker that has the hash's lock is alive. */
function isManned(root: Root, hash: string): boolean {
  const worker = readWorkerInfo(workerInfoPath(root, hash));
  return worker !== null && isAlive(worker.identity);
}

/** As {@link ask}, and waits for no worker that does not listen yet. */
export async function askOnce<T>(
  root: Root,
  hash: string,
  request: ControlRequest,
): Promise<Reply<T>> {
  const socket = join(runDir(root), socketName(hash));
  if (!system.files.exists(socket)) return { kind: "nobody" };
  const { method, path } = request;
  const given = { method, path, ...(request.body !== undefined && { body: textOf(request.body) }) };
  const whenLate = (act: () => void) =>
    whenOverdue(timeOf(request), () => holderOf(root, hash, request), act);
  const outcome = await system.sockets.request(socket, given, whenLate).catch((error: unknown) => {
    throw diskError(error, "reach the worker at", socket);
  });
  if (outcome.kind === "lost") throw lost(hash, outcome.error);
  return outcome.kind === "response" ? replyOf<T>(hash, outcome.response) : outcome;
}

function replyOf<T>(hash: string, { status, body }: SocketResponse): Reply<T> {
  let value: T | Failure;
  try {
    value = JSON.parse(body) as T | Failure;
  } catch (error) {
    throw lost(hash, error);
  }
  if (status < 300) return { kind: "reply", value: value as T };
  const { error } = value as Failure;
  if (error.code === "WORKER_CLOSING") return { kind: "nobody" };
  throw new WorkflowError(error);
}

function lost(hash: string, error: unknown): WorkflowError {
  const hint = "what was committed is kept; see the status of the thread: uncaged-workflow threads";
  const message = `the worker of ${hash} ended before it answered`;
  return WorkflowError.failed("WORKER_LOST", message, hint, error);
}

// A worker that had to read what is nested too deeply would end, and all its threads with it.
function textOf(body: unknown): string {
  const written = toJson(body, "request");
  if (written.ok) return written.json;
  throw WorkflowError.usage(
    "VALUE_NOT_JSON",
    written.reason,
    "give values that JSON can hold, less deeply nested",
  );
}

/** Moves how long an idle worker stays, in milliseconds: 3,000 without it. */
export const idleVariable = "UNCAGED_WORKFLOW_IDLE_MS";

const defaultIdleMs = 3_000;
/** How long a worker may take to begin to listen, by {@link whenOverdue}. */
const startTimeoutMs = 20_000;
const busyCode = 75;
const mostCandidates = 20;
const largestWorkerLog = 1024 * 1024 * 1024;

/** Starts a worker of a hash, detached, without a pipe. Whether it gets the lock is seen later. */
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

/**
 * Has a prewarmed process be the worker of a hash, with a request. Null when it gives no reply: it has found another one
 * in its place, or was lost.
 *
 * @throws WorkflowError what the worker answered, `WORKER_SILENT`.
 */
export async function beginWorker(
  root: Root,
  hash: string,
  prewarmed: PrewarmedWorker,
  body: StartRequest,
): Promise<Started | null> {
  createRoot(root);
  // The process opens it itself, and has nowhere else to report why it can't.
  system.files.close(openWorkerLog(workerLogPath(root, hash)));
  const request = { method: "POST", path: "/threads", body: textOf(body) };
  // While the process begins, which would do it before its first step.
  const made = [threadsDir(root, hash)];
  made.forEach(makeFolder);
  const log = prepared(root, hash, body);
  const silence = Promise.withResolvers<"silent">();
  const isSilent = () => silence.resolve("silent");
  const cancel = whenOverdue(controlTimeoutMs, () => prewarmed.pid, isSilent);
  try {
    const identity = system.processes.identify(prewarmed.pid);
    const args: WorkerOrder["args"] = [root, hash, String(idleMs())];
    const began = prewarmed.begin({ args, request, identity, made, log });
    const response = await Promise.race([began, silence.promise]);
    if (response === "silent") throw silentWorker(root, hash);
    const reply = response && replyOf<Started>(hash, response);
    return reply?.kind === "reply" ? reply.value : null;
  } finally {
    cancel();
    // It is there no more if the thread has it.
    if (log) removeQuietly(log.aside);
  }
}

/** The log of a new thread, as its worker makes it; null where that needs more than the request. */
function prepared(root: Root, hash: string, request: StartRequest): PreparedLog | null {
  if (request.fork || request.input || request.durability === "os") return null;
  // A bundle may say otherwise: then its worker makes the log.
  const facts = { rounds: defaultMaxRounds, timestamp: system.clock.now() };
  return prepareLog(dataPath(root, hash, request.threadId), startRecord(hash, request, facts));
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
 * Sends a request to the worker of a hash, and starts one when none listens. Of several that are
 * started at once the lock lets one stay.
 *
 * @throws WorkflowError what the worker answered, `WORKER_SILENT`, `WORKER_FAILED`.
 */
export async function askWorker<T>(root: Root, hash: string, request: ControlRequest): Promise<T> {
  const began = system.clock.elapsed();
  let candidate: Child | null = null;
  let candidates = 0;
  const overdue = new Overdue(startTimeoutMs, () => candidate?.pid ?? null);
  try {
    for (;;) {
      const reply = await ask<T>(root, hash, request);
      if (reply.kind === "reply") return reply.value;
      if (reply.kind === "silent") throw silentWorker(root, hash, timeOf(request));
      if (!candidate || hasEnded(candidate)) {
        if (candidate && hasFailed(candidate)) throw failedToStart(root, hash, candidate);
        if (candidates >= mostCandidates) throw silent(hash, startTimeoutMs);
        if (candidate) await system.clock.sleep(20 * candidates);
        candidate = spawnWorker(root, hash);
        candidates += 1;
      }
      if (overdue.is) throw silent(hash, startTimeoutMs);
      await system.clock.sleep(pauseAfter(system.clock.elapsed() - began));
    }
  } finally {
    overdue.end();
  }
}

/**
 * What {@link askAgain} may be given: whether a worker was lost with the request before; and the reply where the next
 * refuses, with such a code, because that one has done it.
 */
type Again<T> = {
  wasLost?: boolean;
  done?: (refusal: string) => T | null | Promise<T | null>;
};

/** As {@link askWorker}, for what may be asked twice: when the worker is lost before it answers, the next is asked. */
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

/** Whether a worker ended before it answered: what it was asked for may be done or not. */
export const isLost = (error: unknown): boolean =>
  isWorkflowError(error) && error.code === "WORKER_LOST";

/** The error that a worker has the request and does not answer; one that is stuck in loading its bundle is ended. */
export const silentWorker = (root: Root, hash: string, ms = controlTimeoutMs): WorkflowError =>
  heldByDisk(root, hash) ?? endStuckLoader(root, hash) ?? silent(hash, ms);

/** The error that a worker waits for a disk; null where it does not. Until the disk answers, SIGKILL ends it neither. */
export function heldByDisk(root: Root, hash: string): WorkflowError | null {
  const holder = readWorkerInfo(workerInfoPath(root, hash))?.identity;
  if (!holder || !isAlive(holder) || !system.processes.waitsForDisk(holder.pid)) return null;
  return WorkflowError.failed(
    "WORKER_SILENT",
    `the worker of ${hash} waits for a disk, and did not answer in time`,
    `see whether another program keeps the disk of ${root} busy, or the disk fails; then look at the thread, and ask again`,
  );
}

// A worker that has begun to drive nothing and doesn't answer is stuck in its bundle's top level. It has no
// thread that a forced kill could name, so nobody else could end it.
function endStuckLoader(root: Root, hash: string): WorkflowError | null {
  const worker = readWorkerInfo(workerInfoPath(root, hash));
  if (!worker || worker.drove || !isAlive(worker.identity)) return null;
  system.processes.kill(worker.identity.pid);
  return WorkflowError.failed(
    "BUNDLE_LOAD_FAILED",
    `the bundle ${hash} blocked its worker while it was loaded: the worker was ended`,
    "a bundle's top level must end: do the work in run",
  );
}

const hasEnded = ({ exitCode, signalCode }: Child): boolean =>
  exitCode !== null || signalCode !== null;

// One that found another in its place, was asked to close, or was killed has not failed: the next may do.
const hasFailed = ({ exitCode }: Child): boolean =>
  exitCode !== null && exitCode !== 0 && exitCode !== busyCode;

function silent(hash: string, ms: number): WorkflowError {
  return WorkflowError.failed(
    "WORKER_SILENT",
    `the worker of ${hash} did not answer within ${Math.round(ms / 1000)} s`,
    "a role may block it; to end it and take up its other threads: uncaged-workflow kill --force <thread>",
  );
}

function failedToStart(root: Root, hash: string, { exitCode }: Child): WorkflowError {
  const path = workerLogPath(root, hash);
  const printed = new TextDecoder().decode(readOwnFile(path, largestWorkerLog) ?? undefined);
  const lines = printed.trimEnd().split("\n");
  const last = lines.at(-1) ?? "";
  if (last === "") checkRoom(path);
  const record = recordIn(last) ?? recordOf(lines.findLast((line) => causeLine.test(line)) ?? last);
  if (record.code !== "INTERNAL") return new WorkflowError(record);
  return WorkflowError.failed(
    "WORKER_FAILED",
    `the worker of ${hash} ended with ${exitCode}: ${record.message}`,
    `see its log: ${path}`,
  );
}

// What Bun prints of an error or a crash ends with a stack and its own version.
const causeLine = /^(?:\w*error|panic[^:]*): /i;

const recordOf = (line: string): ErrorRecord => ({
  code: "INTERNAL",
  kind: "failed",
  message: line.slice(0, 300),
});

/** The error that a line of a worker's log has; null when it ended otherwise, and the line is the runtime's. */
function recordIn(line: string): ErrorRecord | null {
  try {
    const record = JSON.parse(line) as ErrorRecord;
    return typeof record.code === "string" && typeof record.message === "string" ? record : null;
  } catch {
    return null;
  }
}

// What ended a worker without a word may be that there was no room for its words.
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
