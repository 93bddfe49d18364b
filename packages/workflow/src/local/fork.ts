import { WorkflowError } from "../contract/error.ts";
import type { ForkRequest } from "../control/control.ts";
import type { Forked, ForkOptions } from "../host/host.ts";
import { retryOptions } from "../host/retry.ts";
import { dataPath, type Root } from "../storage/paths.ts";
import { readStart } from "../log/log.ts";
import type { StartRecord } from "../log/record.ts";
import { type Keep, keptSteps } from "../thread/fork.ts";
import type { ThreadRef, ThreadView } from "../thread/thread.ts";
import { checkOptions, checkRounds, definedEnv, sendStart } from "./start.ts";
import { readView } from "./threads.ts";
import { resolveWorkflow } from "./resolve.ts";

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

/** @see retryOptions */
export async function retryThread(
  root: Root,
  ref: ThreadRef,
  options: Omit<ForkOptions, "keep">,
): Promise<Forked> {
  return await forkThread(root, ref, retryOptions(await readView(root, ref), options));
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
  keep.every((index, place) => index === place) ? { first: keep.length } : keep;

function nothingToEdit(threadId: string): WorkflowError {
  return new WorkflowError({
    code: "NOTHING_TO_EDIT",
    kind: "usage",
    message: `the fork of ${threadId} keeps no step that could be edited`,
    hint: "keep at least one step: --from-role R or --at-step N",
  });
}
