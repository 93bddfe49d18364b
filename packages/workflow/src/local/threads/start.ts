import { ulid } from "ulid";
import { INPUT, WAIT } from "../../contract/contract.ts";
import { isWorkflowError } from "../../contract/error.ts";
import {
  engineOptions,
  type ForkRequest,
  isRounds,
  mostRounds,
  type Started,
  type StartRequest,
} from "../../control/control.ts";
import type { Forked, ForkOptions, StartedThread, StartOptions } from "../../host/host.ts";
import { readRegistry } from "../../registry/read.ts";
import { type Resolved, resolve as resolveIn } from "../../registry/versions.ts";
import { bundlePath, dataPath, type Root, storedHashes, threadsDir } from "../../disk/paths.ts";
import { checkThreadId } from "../../contract/names.ts";
import { syncFolder } from "../../disk/files.ts";
import { system } from "../../system/system.ts";
import { checkHere, threadWithId } from "../../disk/threads.ts";
import { keptSteps } from "../../record/selection.ts";
import type { StartRecord } from "../../record/record.ts";
import { type ThreadRef, type ThreadView } from "../../record/thread.ts";
import { isFromStep } from "./answerer.ts";
import { surroundingsIn, surroundingsOf } from "../workers/surroundings.ts";
import { readView, startOf } from "./view.ts";
import { askAgain } from "../workers/worker-client.ts";
import { bundleMissing } from "../../bundle/errors.ts";
import {
  answerFromStep,
  badMaxRounds,
  clockWrong,
  nothingToEdit,
  ofOtherSource,
  ofOtherWorkflow,
  reservedOption,
  startUnreadable,
} from "../errors.ts";
import { corruptError } from "../../record/errors.ts";

/** Finds the version to run. @throws WorkflowError `BUNDLE_MISSING`, `REGISTRY_BROKEN`, the errors of `resolve`. */
export async function resolveWorkflow(root: Root, nameOrHash: string): Promise<Resolved> {
  const found = resolveIn(await readRegistry(root), nameOrHash, () => storedHashes(root), root);
  checkStored(root, found.name, found.hash);
  return found;
}

/** Checks that a version's file exists. @throws WorkflowError `BUNDLE_MISSING` */
export function checkStored(root: Root, name: string, hash: string): void {
  const path = bundlePath(root, hash);
  if (system.files.exists(path)) return;
  throw bundleMissing(path, name);
}

/**
 * Starts a thread.
 * @throws WorkflowError `BAD_MAX_ROUNDS`, `BAD_OPTION`, the errors of `resolveWorkflow`, `surroundingsIn` and of
 * loading the bundle; nothing is written then.
 * @see Host.start
 */
export async function startThread(
  root: Root,
  { threadId, cwd, env, name, ...given }: StartOptions,
): Promise<StartedThread> {
  checkStart(given);
  const { name: resolved, hash } = await resolveWorkflow(root, given.workflow);
  const surroundings = await surroundingsIn(cwd, env);
  const request = {
    ...given,
    workflow: name ?? resolved,
    options: { ...given.options, cwd },
    ...surroundings,
  };
  return await sendStart(root, hash, threadId, request);
}

/** Sends a new thread to the worker of its hash, starting a worker if none is alive. */
async function sendStart(
  root: Root,
  hash: string,
  given: string | undefined,
  request: Omit<StartRequest, "threadId">,
): Promise<StartedThread> {
  if (given === undefined) {
    const threadId = await newThreadId();
    return await startNew(root, hash, { threadId, ...request });
  }
  const wanted = { hash, ...request };
  const before = await startedBefore(root, checkThreadId(given), wanted);
  if (before) return before;
  try {
    return await startNew(root, hash, { threadId: given, isGiven: true, ...request });
  } catch (error) {
    const isTaken = isWorkflowError(error) && error.code === "THREAD_EXISTS";
    const other = isTaken ? await startedBefore(root, given, wanted) : null;
    if (other) return other;
    throw error;
  }
}

/** Finds the thread with an id, of any version; null if there is none. @throws WorkflowError `THREAD_EXISTS` */
async function startedBefore(
  root: Root,
  threadId: string,
  wanted: WantedThread,
): Promise<StartedThread | null> {
  const there = threadWithId(root, threadId);
  if (!there) return null;
  checkHere(root, there);
  const start = startOf(root, there);
  if (!start) throw startUnreadable(threadId);
  checkSameThread(start, wanted);
  // The process that created the log may have ended before the log's name was durable.
  syncFolder(threadsDir(root, there.hash));
  return { ...there, workflow: start.name };
}

/** The thread requested by a start or a fork with a caller's id. */
export type WantedThread = Pick<StartRequest, "fork" | "workflow"> & { hash: string };

/**
 * Checks that a start or a fork requests the existing thread with its id. The version may differ: the name may point to
 * another version now.
 * @throws WorkflowError `THREAD_EXISTS`
 */
export function checkSameThread(
  { threadId, name, hash, forkFrom }: StartRecord,
  wanted: WantedThread,
): void {
  if (name !== wanted.workflow && hash !== wanted.hash) throw ofOtherWorkflow(threadId, name);
  if (forkFrom?.threadId !== wanted.fork?.threadId)
    throw ofOtherSource(threadId, forkFrom?.threadId ?? null);
}

// A ULID has 48 bits for the time.
const latestId = 2 ** 48 - 1;

/** A new thread's id. @throws WorkflowError `CLOCK_WRONG`. */
export async function newThreadId(): Promise<string> {
  const now = system.clock.now();
  if (now >= 0 && now <= latestId) return ulid(now, () => system.random());
  throw clockWrong(new Date(now).getUTCFullYear());
}

async function startNew(root: Root, hash: string, body: StartRequest): Promise<StartedThread> {
  // A repeated request with the same id does not start a second thread.
  await askAgain<Started>(root, hash, { method: "POST", path: "/threads", body });
  return { threadId: body.threadId, workflow: body.workflow, hash };
}

/**
 * Checks the limits and options of a start.
 * @throws WorkflowError `BAD_MAX_ROUNDS`; `BAD_OPTION` when an option has a name reserved for the engine.
 */
export function checkStart({
  maxRounds,
  options = {},
}: Pick<StartOptions, "maxRounds" | "options">) {
  if (maxRounds !== undefined && !isRounds(maxRounds)) throw badMaxRounds(maxRounds, mostRounds);
  const taken = Object.keys(options).find((key) => engineOptions.has(key));
  if (taken === undefined) return;
  throw reservedOption(taken);
}

/**
 * Forks a thread.
 * @throws WorkflowError the errors of `forkRequest` and `startThread`; nothing is written then.
 * @see Host.fork
 */
export async function forkThread(
  root: Root,
  ref: ThreadRef,
  { env, threadId, ...options }: ForkOptions,
): Promise<Forked> {
  const resolveOn = (on: string) => resolveWorkflow(root, on);
  const { hash, steps, request } = await forkRequest(root, ref, options, resolveOn);
  const surroundings = await surroundingsOf(root, ref, env);
  const started = await sendStart(root, hash, threadId, { ...request, ...surroundings });
  return { ...started, forkFrom: { threadId: ref.threadId, steps } };
}

/** The source thread of a fork. `isFromStep`: a step started this process, so it may not answer questions. */
export type ForkSource = {
  start: () => Promise<StartRecord | null>;
  view: () => Promise<ThreadView>;
  isFromStep: () => boolean;
  /** The thread's log, for messages. */
  path: string;
};

/**
 * Builds the request for a fork, with its version and number of kept steps. Reads only the thread's log.
 * @throws WorkflowError `NO_SUCH_ROLE`, `NO_SUCH_STEP` (missing), `NOTHING_TO_EDIT`, `ANSWER_FROM_STEP`; the errors of
 * `resolve`.
 */
export function forkRequest(
  root: Root,
  ref: ThreadRef,
  options: Omit<ForkOptions, "env" | "threadId">,
  resolve: (on: string) => Promise<Resolved>,
): ReturnType<typeof forkRequestOf> {
  const source: ForkSource = {
    start: async () => startOf(root, ref),
    view: () => readView(root, ref),
    isFromStep: () => isFromStep(root),
    path: dataPath(root, ref.hash, ref.threadId),
  };
  return forkRequestOf(source, ref, options, resolve);
}

/** Builds the request of {@link forkRequest} for a thread in any store. */
export async function forkRequestOf(
  source: ForkSource,
  ref: ThreadRef,
  options: Omit<ForkOptions, "env" | "threadId">,
  resolve: (on: string) => Promise<Resolved>,
): Promise<{
  hash: string;
  steps: number;
  request: Omit<StartRequest, "threadId" | "env">;
}> {
  const { keep: chosen, edit, rerun, anew, on, name, ...others } = options;
  const { input = rerun, ...given } = others;
  const { keep, workflow } = await keptOf(source, chosen, anew);
  checkStart(given);
  const steps = "first" in keep ? keep.first : keep.length;
  if (edit && steps === 0) throw nothingToEdit(ref.threadId);
  const resolved = on === undefined ? { name: workflow, hash: ref.hash } : await resolve(on);
  const fork: ForkRequest = {
    hash: ref.hash,
    threadId: ref.threadId,
    keep,
    edit,
    input,
    ...(rerun && input === rerun && { isRerun: true }),
    ...(anew && { anew }),
  };
  const isChanged = edit !== undefined || input !== undefined;
  if (isChanged && source.isFromStep() && (await answers(source, fork))) throw answerFromStep();
  const request = { ...given, workflow: name ?? resolved.name, fork };
  return { hash: resolved.hash, steps, request };
}

/** Whether a fork edits an answer, or answers the last kept step. */
async function answers(source: ForkSource, { edit, input, keep }: ForkRequest): Promise<boolean> {
  const { steps } = await source.view();
  const last = steps["first" in keep ? keep.first - 1 : (keep.at(-1) ?? -1)];
  return (last?.role === WAIT && !!input) || (last?.role === INPUT && !!edit);
}

/** The steps that a fork keeps, and the name of its workflow. */
async function keptOf(
  source: ForkSource,
  keep: ForkOptions["keep"],
  anew = false,
): Promise<{ keep: ForkRequest["keep"]; workflow: string }> {
  if (keep && "atStep" in keep && Number.isSafeInteger(keep.atStep) && keep.atStep >= 0) {
    // Do not read the log here: the worker reads it anyway and counts the steps.
    const start = await source.start();
    if (start) return { keep: { first: keep.atStep }, workflow: start.name };
  }
  const view = await source.view();
  const { steps, workflow } = view;
  // Without the start record, nothing can be kept.
  if (view.status === "corrupt" && workflow === "") throw corruptError(source.path, view.broken);
  const kept = keptSteps(steps, keep ?? (anew ? { atStep: steps.length } : undefined));
  const areFirst = kept.every((index, at) => index === at);
  return { keep: areFirst ? { first: kept.length } : kept, workflow };
}
