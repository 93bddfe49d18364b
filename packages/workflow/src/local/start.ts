import { existsSync } from "node:fs";
import { join } from "node:path";
import { isWorkflowError, WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import {
  type ForkRequest,
  isRounds,
  mostRounds,
  type Started,
  type StartRequest,
} from "../control/control.ts";
import type {
  Environment,
  ForkOptions,
  Forked,
  StartOptions,
  StartedThread,
} from "../host/host.ts";
import { readStart } from "../log/log.ts";
import type { StartRecord } from "../log/record.ts";
import { readRegistry } from "../registry/read.ts";
import { resolve, type Resolved } from "../registry/versions.ts";
import {
  bundlePath,
  checkThreadId,
  dataPath,
  type Root,
  runDir,
  socketName,
  storedHashes,
} from "../storage/paths.ts";
import { openRoot, type RootOptions } from "../storage/root.ts";
import { type Keep, keptSteps } from "../thread/selection.ts";
import type { ThreadRef, ThreadView } from "../thread/thread.ts";
import { readView } from "./threads.ts";
import { askWorker, type Candidate, spawnWorker } from "./worker-client.ts";

/**
 * What is to be run: a name, `name@hash`, or a hash; hashes may be shortened to a unique prefix,
 * of at least 4 digits when it stands alone. A bundle that no name points to has its hash
 * as its name.
 *
 * @throws WorkflowError `WORKFLOW_NOT_FOUND`, `VERSION_NOT_FOUND` (missing), `VERSION_AMBIGUOUS`
 * (usage), `BUNDLE_MISSING`, `REGISTRY_BROKEN`.
 */
export async function resolveWorkflow(root: Root, nameOrHash: string): Promise<Resolved> {
  const found = resolve(await readRegistry(root), nameOrHash, () => storedHashes(root));
  checkStored(root, found.name, found.hash);
  return found;
}

/** @throws WorkflowError `BUNDLE_MISSING` when the file that a version points to is not there. */
export function checkStored(root: Root, name: string, hash: string): void {
  const path = bundlePath(root, hash);
  if (existsSync(path)) return;
  throw new WorkflowError({
    code: "BUNDLE_MISSING",
    kind: "missing",
    message: `the bundle of ${name} is gone: ${path}`,
    hint: "add the same file again, or roll back to another version",
  });
}

/** A worker that was started before its first thread was. */
export type Prewarmed = { root: Root; hash: string; candidate: Candidate };

/**
 * Starts the worker of a workflow, or gives null when one listens: it boots while the caller is still at
 * work on the rest, and is then given to `openLocalHost`. It exits should no thread come.
 *
 * @throws WorkflowError those of `openRoot` and of `resolveWorkflow`; nothing is then written.
 */
export async function prewarmWorker(
  where: RootOptions,
  workflow: string,
): Promise<Prewarmed | null> {
  const root = openRoot(where);
  const { hash } = await resolveWorkflow(root, workflow);
  const candidate = newCandidate(root, hash);
  return candidate && { root, hash, candidate };
}

/** The prewarmed worker when it is of this hash, else a new one where none listens. */
export function candidateOf(
  root: Root,
  hash: string,
  prewarmed?: Prewarmed | null,
): Candidate | null {
  if (prewarmed?.root === root && prewarmed.hash === hash) return prewarmed.candidate;
  return newCandidate(root, hash);
}

function newCandidate(root: Root, hash: string): Candidate | null {
  return existsSync(join(runDir(root), socketName(hash))) ? null : spawnWorker(root, hash);
}

/**
 * Starts a thread of a registered workflow and returns when its start record is on the disk.
 *
 * @throws WorkflowError `NO_SUCH_WORKFLOW`, `BAD_MAX_ROUNDS`, `BAD_OPTION`, and whatever keeps the
 * bundle from being loaded; then nothing is written.
 */
export async function startThread(
  root: Root,
  options: StartOptions,
  prewarmed?: Prewarmed | null,
): Promise<StartedThread> {
  const { prompt = "", maxRounds, params, input } = options;
  if (maxRounds !== undefined) checkRounds(maxRounds);
  checkOptions(options.options ?? {});
  const { name, hash } = await resolveWorkflow(root, options.workflow);
  const request = {
    workflow: name,
    prompt,
    ...(maxRounds === undefined ? {} : { maxRounds }),
    ...(params === undefined ? {} : { params }),
    ...(input ? { input } : {}),
    options: { ...options.options, cwd: options.cwd },
    env: definedEnv(options.env),
    ...(options.durability ? { durability: options.durability } : {}),
  };
  return await sendStart(root, hash, options.threadId, request, prewarmed);
}

/** Hands a new thread to the worker of its hash. */
export async function sendStart(
  root: Root,
  hash: string,
  threadId: string | undefined,
  request: Omit<StartRequest, "threadId"> & { fork?: ForkRequest },
  prewarmed?: Prewarmed | null,
): Promise<StartedThread> {
  if (threadId !== undefined) {
    const { createdThread } = await import("./threads.ts");
    const there = createdThread(root, checkThreadId(threadId));
    if (there) return there;
  }
  const candidate = candidateOf(root, hash, prewarmed);
  const id = threadId ?? (await import("ulid")).ulid();
  const body: StartRequest = { threadId: id, ...request };
  const start = { method: "POST", path: "/threads", body } as const;
  await askWorker<Started>(root, hash, start, candidate).catch(async (error: unknown) => {
    // A worker that is just ending may have taken the connection. By its id a thread starts once.
    if (!isWorkflowError(error) || error.code !== "WORKER_LOST") throw error;
    await askWorker<Started>(root, hash, start);
  });
  return { threadId: id, workflow: request.workflow, hash };
}

/** @throws WorkflowError `BAD_MAX_ROUNDS` unless it is a whole number from 1 to {@link mostRounds}. */
export function checkRounds(maxRounds: number): void {
  if (isRounds(maxRounds)) return;
  throw new WorkflowError({
    code: "BAD_MAX_ROUNDS",
    kind: "usage",
    message: `maxRounds can't be ${String(maxRounds)}`,
    hint: `give a whole number from 1 to ${mostRounds}`,
  });
}

const keptForEngine = new Set(["threadId", "maxRounds", "signal", "cwd", "env", "forkFrom"]);

/** @throws WorkflowError `BAD_OPTION` when an option has a name that is the engine's own. */
export function checkOptions(options: Record<string, unknown>): void {
  const taken = Object.keys(options).find((key) => keptForEngine.has(key));
  if (taken === undefined) return;
  throw new WorkflowError({
    code: "BAD_OPTION",
    kind: "usage",
    message: `the option ${show(taken)} is the engine's own`,
    hint: "give it another name",
  });
}

/** An environment without what is not set. */
export function definedEnv(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/**
 * Starts a thread whose log begins with a copy of another's steps. The other may be running.
 *
 * @throws WorkflowError `NO_SUCH_ROLE`, `NO_SUCH_STEP` (missing), `NOTHING_TO_EDIT`, and those of
 * `startThread`; then nothing is written.
 */
export async function forkThread(
  root: Root,
  ref: ThreadRef,
  options: ForkOptions,
): Promise<Forked> {
  const first = firstOf(options.keep);
  const start = first === null ? null : headOf(root, ref);
  if (first !== null && start) {
    const source = { threadId: ref.threadId, hash: ref.hash, workflow: start.name };
    return await sendFork(root, source, { first }, options);
  }
  const source = await readView(root, ref);
  return await sendFork(root, source, keepOf(keptSteps(source.steps, options.keep)), options);
}

// How many steps there are, the worker will see: it reads the log in any case.
function firstOf(keep: Keep | undefined): number | null {
  if (!keep || !("atStep" in keep)) return null;
  return Number.isSafeInteger(keep.atStep) && keep.atStep >= 0 ? keep.atStep : null;
}

function headOf(root: Root, { hash, threadId }: ThreadRef): StartRecord | null {
  try {
    return readStart(dataPath(root, hash, threadId));
  } catch {
    return null;
  }
}

async function sendFork(
  root: Root,
  source: Pick<ThreadView, "threadId" | "hash" | "workflow">,
  keep: ForkRequest["keep"],
  options: ForkOptions,
): Promise<Forked> {
  if (options.maxRounds !== undefined) checkRounds(options.maxRounds);
  checkOptions(options.options ?? {});
  const kept = "first" in keep ? keep.first : keep.length;
  if (options.edit && kept === 0) throw nothingToEdit(source.threadId);
  const { name, hash } =
    options.on === undefined
      ? { name: source.workflow, hash: source.hash }
      : await resolveWorkflow(root, options.on);
  const fork: ForkRequest = {
    hash: source.hash,
    threadId: source.threadId,
    keep,
    ...(options.edit ? { edit: options.edit } : {}),
    ...(options.input ? { input: options.input } : {}),
  };
  const started = await sendStart(root, hash, options.threadId, {
    workflow: name,
    env: definedEnv(options.env),
    fork,
    ...(options.options ? { options: options.options } : {}),
    ...(options.prompt === undefined ? {} : { prompt: options.prompt }),
    ...(options.maxRounds === undefined ? {} : { maxRounds: options.maxRounds }),
    ...(options.durability ? { durability: options.durability } : {}),
  });
  return { ...started, forkFrom: { threadId: source.threadId, steps: kept } };
}

const keepOf = (keep: number[]): ForkRequest["keep"] =>
  keep.every((index, at) => index === at) ? { first: keep.length } : keep;

function nothingToEdit(threadId: string): WorkflowError {
  return new WorkflowError({
    code: "NOTHING_TO_EDIT",
    kind: "usage",
    message: `the fork of ${threadId} keeps no step that could be edited`,
    hint: "keep at least one step: --from-role R or --at-step N",
  });
}
