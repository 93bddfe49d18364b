import { dirname } from "node:path";
import { compileSchema, type Validate } from "../bundle/schema.ts";
import type { LoadedBundle } from "../bundle/store.ts";
import {
  type Bundle,
  INPUT,
  type JsonSchema,
  type Step,
  WAIT,
  type WaitMeta,
  type WorkflowOptions,
} from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { wakesAt } from "../contract/wait.ts";
import type { Mask } from "../contract/mask.ts";
import { isPlainObject, show } from "../contract/show.ts";
import { answererOf } from "../control/answered-by.ts";
import {
  defaultMaxRounds,
  type ForkRequest,
  type InputRequest,
  isRounds,
  type Started,
  type StartRequest,
  type StepEdit,
  withValue,
} from "../control/control.ts";
import { type SchemaJudge, withDecision } from "../engine/answer.ts";
import { InfoLog } from "../log/info.ts";
import {
  type LogOutline,
  outlineLog,
  readLog,
  readStart,
  scanLog,
  type ThreadLog,
  type Unreadable,
} from "../log/log.ts";
import { type StartRecord, textOf } from "../log/record.ts";
import {
  type AddRecord,
  checkRecordSize,
  LogWriter,
  type TornTail,
  truncateTail,
} from "../log/writer.ts";
import type { Writing } from "../log/writing.ts";
import { diskError, systemCode } from "../storage/disk-error.ts";
import { blobCopier, threadBlobs } from "../storage/blobs.ts";
import { addDue } from "../storage/due.ts";
import { makeFolder, removeQuietly, syncFolder } from "../storage/files.ts";
import { waitForLock } from "../storage/lock.ts";
import {
  checkThreadId,
  dataPath,
  infoPath,
  isHash,
  type Root,
  startLockPath,
  threadsDir,
  valuesPath,
} from "../storage/paths.ts";
import { CopiedCommits, worktreesDir } from "../storage/worktrees.ts";
import { system } from "../system/system.ts";
import { checkHere, notFound } from "../thread/selection.ts";
import { keptBy, startRecord } from "../thread/start-record.ts";
import { corruptError, endedError } from "../thread/thread.ts";

/** A thread whose log was just created, and the writer that continues it. */
export type CreatedThread = { start: StartRecord; steps: Step[]; writer: LogWriter };

/** What a new thread takes over from its bundle. */
export type BundleFacts = { rounds?: number; sha256?: string };

/**
 * The error that a thread with this start record was started with other bytes than its bundle now has; null when it was
 * not, or runs another version, or is of an earlier version of the format.
 */
export function otherBundle(
  root: Root,
  { hash, threadId, sha256 }: StartRecord,
  bundle: { hash: string; sha256?: string },
): WorkflowError | null {
  const isKnown = hash === bundle.hash && sha256 !== undefined && bundle.sha256 !== undefined;
  if (!isKnown || sha256 === bundle.sha256) return null;
  return WorkflowError.failed(
    "BUNDLE_CHANGED",
    `${dataPath(root, hash, threadId)}:1: the thread was started with another bundle of the hash ${hash}`,
    "see which record of the bundle differs: uncaged-workflow verify",
  );
}

/**
 * Makes the log of a new thread: its start record, and the steps that a fork brings along, byte for
 * byte but for their sums. It is durable, whole, when this returns; on an error there is none. `rounds` is the
 * default when neither the request nor the source of a fork sets a limit.
 *
 * @throws WorkflowError `BUNDLE_CHANGED` when the source ran another bundle of the same hash.
 */
export function createLog(
  root: Root,
  hash: string,
  request: StartRequest,
  writing: Writing,
  { rounds = defaultMaxRounds, sha256 }: BundleFacts = {},
): CreatedThread {
  const path = dataPath(root, hash, checkThreadId(request.threadId));
  const { fork } = request;
  const source = fork ? sourceOf(root, fork) : null;
  const other = source && otherBundle(root, source.start, { hash, sha256 });
  if (other) throw other;
  const timestamp = system.clock.now();
  const facts = { source: source?.start, rounds, sha256, timestamp };
  const start = startRecord(hash, request, facts);
  const head = textOf(start);
  checkRecordSize(Buffer.byteLength(head));
  makeFolderOnce(dirname(path), writing);
  const steps: Step[] = [];
  const copyBlobs = fork && blobCopier(root, fork, { hash, threadId: request.threadId });
  const commits = new CopiedCommits();
  const fill = (add: AddRecord) => {
    const addStep = (step: Step, record: string | Uint8Array = textOf(step)) => {
      steps.push(step);
      add(record);
      copyBlobs?.(step);
      if (fork) commits.add(step);
    };
    add(head);
    if (fork && source) copySteps(source.path, fork, addStep);
    const { input } = fork ?? request;
    if (input) addStep(inputStep(input, steps[steps.length - 1]));
    commits.note(root, request.threadId);
    const at = wakesAt(steps[steps.length - 1] ?? null);
    if (at !== null) addDue(root, { hash, threadId: request.threadId, at }, writing.made);
  };
  return { start, writer: LogWriter.create(path, fill, writing), steps };
}

// Its name is made durable by each worker once, and not for each thread.
function makeFolderOnce(folder: string, { made }: Writing): void {
  if (made?.has(folder) && system.files.exists(folder)) return;
  makeFolder(folder);
  made?.add(folder);
}

/** The second argument of a thread's `run`, but for what its engine adds. */
export function optionsOf(
  root: Root,
  { hash, threadId, forkFrom, parameters: { options } }: StartRecord,
  env: WorkflowOptions["env"],
): WorkflowOptions {
  const blobs = threadBlobs(root, hash, threadId);
  const worktrees = worktreesDir(root, threadId);
  return { ...options, threadId, env, blobs, worktrees, ...(forkFrom && { forkFrom }) };
}

/** The writer of a thread's debug log. */
export const infoLogOf = (
  root: Root,
  { hash, threadId }: Pick<StartRecord, "hash" | "threadId">,
  mask: Mask,
): InfoLog => new InfoLog(infoPath(root, hash, threadId), mask, valuesPath(root, hash, threadId));

/** The maxRounds of a bundle's threads when their starter gives none: that of its descriptor, else 100. */
export function roundsOf({ descriptor: { maxRounds } }: Bundle): number {
  return isRounds(maxRounds) ? maxRounds : defaultMaxRounds;
}

export const factsOf = (bundle: LoadedBundle): BundleFacts => ({
  rounds: roundsOf(bundle),
  sha256: bundle.sha256,
});

/** Whether a thread with this id has a log. */
export const isCreated = (root: Root, hash: string, threadId: string): boolean =>
  system.files.exists(dataPath(root, hash, checkThreadId(threadId)));

/**
 * The reply to a start of a thread that is there. Whoever has made its log may have ended before it was durable.
 * @throws WorkflowError `THREAD_MOVED`.
 */
export function startedBefore(root: Root, hash: string, threadId: string): Started {
  checkHere(root, { hash, threadId });
  syncFolder(threadsDir(root, hash));
  return { threadId, started: false };
}

const startTimeoutMs = 5_000;

/** Does something while no worker of any version creates a thread with this id. @throws WorkflowError `START_PENDING`. */
export async function withThreadId<T>(
  root: Root,
  threadId: string,
  act: () => T | Promise<T>,
  timeoutMs: number = startTimeoutMs,
): Promise<T> {
  const path = startLockPath(root, threadId);
  const late = system.clock.elapsed() + timeoutMs;
  const lock = await waitForLock(path, () => {
    if (system.clock.elapsed() <= late) return;
    const message = `another start or move of ${threadId} has not ended yet`;
    throw WorkflowError.failed("START_PENDING", message, "try again");
  });
  try {
    return await act();
  } finally {
    removeQuietly(path);
    lock.release();
  }
}

/** A log that this worker continues; `cut` describes a torn tail that was cut off it. */
export type TakenOver = { log: ThreadLog; writer: LogWriter; cut: TornTail | null };

/**
 * Opens the log of a thread that nobody drives, to continue where it ends. One that is suspect, because a sync
 * failed or its last worker was lost, is written anew first. Null for one whose end had been written and not been shown:
 * it is shown now, and there is nothing to continue.
 * @throws WorkflowError `THREAD_NOT_FOUND`, `THREAD_ENDED`, `THREAD_MOVED`, `LOG_CORRUPT`, or that of the disk.
 */
export function takeOver(
  root: Root,
  hash: string,
  threadId: string,
  writing: Writing,
  isSuspect = false,
): TakenOver | null {
  const path = dataPath(root, hash, threadId);
  checkHere(root, { hash, threadId });
  const log = readThread(path, threadId, (file) => readLog(file, true));
  if (log.kind === "empty") throw notFound(threadId);
  if (log.kind === "headless") throw corruptError(path, log.broken);
  if (log.broken) throw corruptError(path, log.broken);
  for (const step of log.steps) checkRole(path, step);
  if (log.end) {
    if (!log.isEnded) {
      void openAgain(path, log, writing, isSuspect).writer.close();
      return null;
    }
    const { returnCode, reason } = log.end.meta;
    throw endedError(threadId, reason === "returned" ? `returned ${returnCode}` : reason);
  }
  return { log, ...openAgain(path, log, writing, isSuspect) };
}

function openAgain(
  path: string,
  log: ThreadLog,
  writing: Writing,
  isSuspect: boolean,
): Omit<TakenOver, "log"> {
  const { threadId } = log.start;
  const cut = log.torn > 0 ? truncateTail(path, threadId, log.size, log.torn) : null;
  const writer = isSuspect
    ? LogWriter.renew(path, log, writing)
    : LogWriter.open(path, log, writing);
  return { writer, cut };
}

/** @throws WorkflowError `NEWER_LOG` for a step of a reserved role that this version would take for a workflow's. */
function checkRole(path: string, { role }: Step): void {
  if (!role.startsWith("__") || role === WAIT || role === INPUT) return;
  throw WorkflowError.failed(
    "NEWER_LOG",
    `${path} has a step ${show(role)}, which a newer version wrote`,
    "continue the thread with that version; nothing was changed",
  );
}

function readThread<T>(path: string, threadId: string, read: (path: string) => T): T {
  try {
    return read(path);
  } catch (error) {
    throw systemCode(error) === "ENOENT" ? notFound(threadId) : diskError(error, "read", path);
  }
}

const unreadable = (path: string, threadId: string, log: LogOutline | Unreadable) =>
  log.kind === "headless" ? corruptError(path, log.broken) : notFound(threadId);

function sourceOf(root: Root, { hash, threadId }: ForkRequest) {
  if (!isHash(hash)) throw notFound(threadId);
  const path = dataPath(root, hash, checkThreadId(threadId));
  const start = readThread(path, threadId, readStart);
  if (!start) throw unreadable(path, threadId, readThread(path, threadId, outlineLog));
  return { path, start };
}

/** Gives each step of a log that a fork keeps. */
function copySteps(
  path: string,
  { threadId, keep, edit }: ForkRequest,
  addStep: (step: Step, body?: Uint8Array) => void,
): void {
  const count = keptBy(keep);
  let number = 0;
  let kept = 0;
  let before: Step | undefined;
  const onStep = (step: Step, body: Buffer): boolean => {
    const isKept = kept < count && number === ("first" in keep ? kept : keep[kept]);
    number += 1;
    if (!isKept) return kept < count;
    checkRole(path, step);
    kept += 1;
    if (edit && kept === count) addStep(edited(step, edit, before));
    else addStep(step, body);
    before = step;
    return kept < count;
  };
  const log = readThread(path, threadId, (file) => scanLog(file, onStep));
  if (log.kind !== "thread") throw unreadable(path, threadId, log);
  if (kept === count) return;
  const needed = "first" in keep ? keep.first : (keep.at(-1) ?? 0) + 1;
  const message = `the thread ${threadId} has ${log.steps} steps, not ${needed}`;
  throw WorkflowError.missing(
    "NO_SUCH_STEP",
    message,
    `see them: uncaged-workflow thread ${threadId}`,
  );
}

/**
 * A step as it is edited. An answer is taken as if it had been given so: the old value is not that of another text.
 * @throws WorkflowError `NOT_A_DECISION` (usage)
 */
function edited(
  step: Step,
  { content = step.content, meta = step.meta, by }: StepEdit,
  before: Step | undefined,
): Step {
  if (step.role !== INPUT) return { ...step, content, meta };
  const { value, ...others } = meta;
  const isOld = content !== step.content && sameJson(value, step.meta.value);
  const given = withValue({ content, meta: others, by, ...(!isOld && { value }) });
  return { ...inputStep(given, before), timestamp: step.timestamp };
}

const sameJson = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** @throws WorkflowError `NOT_A_DECISION` (usage) */
function inputStep(input: InputRequest, last: Step | undefined): Step {
  const isAnswer = last?.role === WAIT;
  const { content, value, meta } = isAnswer ? withDecision(last.meta as WaitMeta, input) : input;
  const valued = value === undefined ? {} : { value };
  const whole = { ...meta, ...valued, by: answererOf(input) };
  return { role: INPUT, content, meta: whole, timestamp: system.clock.now() };
}

const takesAll: Validate = () => null;
const known = new WeakMap<Bundle, Promise<Validate>>();

/**
 * Checks what a thread is started with against its bundle's `descriptor.input`. Where a prompt comes
 * without params, the workflow may read them from it. A fork, and a thread that begins with an answer,
 * go on from what they were made of.
 * @throws WorkflowError `PARAMS_INVALID` (usage) that names all that is missing or wrong.
 */
export async function checkParams(bundle: Bundle, request: StartRequest): Promise<void> {
  const { params, prompt = "", workflow } = request;
  const { input } = bundle.descriptor;
  if (input === undefined || request.fork || request.input) return;
  if (params === undefined && prompt !== "") return;
  const validate = known.get(bundle) ?? validatorOf(input);
  known.set(bundle, validate);
  const problem = (await validate)(params ?? {});
  if (problem === null) return;
  const hint = `give them as one JSON object; see what they must be: uncaged-workflow show ${workflow}`;
  throw WorkflowError.usage("PARAMS_INVALID", problem.slice(0, 2000), hint);
}

// A bundle that was added before this was checked may hold anything there.
async function validatorOf(input: JsonSchema): Promise<Validate> {
  if (typeof input !== "boolean" && !isPlainObject(input)) return takesAll;
  const compiled = await compileSchema(input, { all: true, name: "params" });
  return "validate" in compiled ? compiled.validate : takesAll;
}

/** Compiles what a `__wait__` asks for. */
export const compileForAnswer: SchemaJudge = async (schema) => {
  const compiled = await compileSchema(schema);
  if ("validate" in compiled) return compiled;
  return { problem: `${compiled.path.join(".") || "it"} ${compiled.message}` };
};
