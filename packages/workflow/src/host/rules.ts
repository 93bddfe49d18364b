import type { Step } from "../contract/contract.ts";
import { worktreeIn, type WorktreeMeta } from "../contract/worktree.ts";
import { recordedFailure } from "../record/step-tries.ts";
import { tryOf } from "../durable/output.ts";
import { answerHint, goesOn, type ThreadRef, type ThreadView } from "../record/thread.ts";
import type { ForkOptions, Host, ObserveOptions, Observed } from "./host.ts";
import { nothingToRetry } from "./errors.ts";
import { movedError } from "../record/errors.ts";

/**
 * Observes a thread until it ends, waits for an answer, is corrupt or removed, or has lost its worker. Continues while
 * the thread is paused or sleeps.
 */
export async function* follow(
  host: Host,
  ref: ThreadRef,
  options: Omit<ObserveOptions, "until"> = {},
): AsyncGenerator<Observed> {
  for await (const item of host.observe(ref, undefined, options)) {
    yield item;
    if (item.kind === "status" && !goesOn(item.state)) return;
  }
}

/** Waits as {@link follow} does and returns the thread; returns at once when `signal` is aborted. */
export async function settled(
  host: Host,
  ref: ThreadRef,
  { signal }: { signal?: AbortSignal } = {},
): Promise<ThreadView> {
  for await (const _ of follow(host, ref, { signal, events: false }));
  return await host.read(ref);
}

/**
 * Returns the options of the fork that retries a failed or killed thread, or a thread that ran out of rounds. The fork
 * keeps every step, or the steps before the recorded failure that ended the thread.
 *
 * @throws WorkflowError `NOTHING_TO_RETRY` when the thread did not end in one of these ways, `THREAD_MOVED`.
 */
export function retryOptions(source: ThreadView, options: Omit<ForkOptions, "keep">): ForkOptions {
  const { threadId, steps, status, maxRounds, movedTo } = source;
  if (movedTo !== undefined) throw movedError(threadId, movedTo);
  const more = (options.maxRounds ?? 0) > maxRounds;
  if (status === "failed" || status === "killed" || (status === "completed" && more)) {
    return { ...options, keep: { atStep: redoneFrom(source) } };
  }
  const hints: Partial<Record<typeof status, string>> = {
    ...(steps.length >= maxRounds && {
      completed: `give it more than ${maxRounds} rounds: uncaged-workflow retry ${threadId} --max-rounds N`,
    }),
    interrupted: `resume it: uncaged-workflow resume ${threadId}`,
    paused: `resume it: uncaged-workflow resume ${threadId}`,
    waiting: goesOn(source)
      ? "wait: it sleeps, and continues when it is due"
      : answerHint(threadId, steps.at(-1) ?? null),
    running: `stop it first: uncaged-workflow kill ${threadId}`,
  };
  throw nothingToRetry(
    threadId,
    status,
    hints[status] ?? `fork it: uncaged-workflow fork ${threadId}`,
  );
}

/**
 * Returns the number of steps that a retry keeps. A durable workflow records a failure when it continues after it, for
 * example with a step in `finally`. If that failure then ends the thread, replaying it would also end the retry.
 */
function redoneFrom(source: ThreadView): number {
  const { steps } = source;
  if (source.status !== "failed" || source.error === null) return steps.length;
  const { attempt, name } = source.error;
  const message = source.result.summary;
  const index = steps.findLastIndex((step) => {
    const failure = tryOf(step) === null ? recordedFailure(step.meta) : null;
    if (failure === null) return false;
    // In a thread of an earlier version that ended during a replay, the failure has no attempt id.
    const isAlike = failure.message === message && failure.name === name;
    return attempt === undefined ? isAlike : step.attempt === attempt;
  });
  return index < 0 ? steps.length : index;
}

/**
 * Returns the number of steps before the last failure that a retry of a failed thread would replay; null if a retry
 * would not replay a failure. If a workflow catches the failure of a step and then fails by its own code, a retry does
 * not repeat a step.
 */
export function replayedFailure(source: ThreadView): number | null {
  if (source.status !== "failed" || source.error?.attempt !== undefined) return null;
  const { steps } = source;
  const index = steps.findLastIndex(
    (step) => tryOf(step) === null && recordedFailure(step.meta) !== null,
  );
  return index < 0 || redoneFrom(source) < steps.length ? null : index;
}

/** A comparison of two threads, step by step. Step numbers count from 1; timestamps are ignored. */
export type ThreadDiff = {
  same: boolean;
  /** The number of the first step that differs, or null. */
  firstDifference: number | null;
  prompt: { a: string; b: string; same: boolean };
  steps: { number: number; a: Step | null; b: Step | null; same: boolean }[];
};

/** Compares the prompts and steps of two threads. Worktrees are compared by their files, not by commit time. */
export function threadDiff(
  a: Pick<ThreadView, "prompt" | "steps">,
  b: Pick<ThreadView, "prompt" | "steps">,
): ThreadDiff {
  const length = Math.max(a.steps.length, b.steps.length);
  const steps = Array.from({ length }, (_, index) => {
    const pair = { a: a.steps[index] ?? null, b: b.steps[index] ?? null };
    return { number: index + 1, ...pair, same: isSame(compared(pair.a), compared(pair.b)) };
  });
  const prompt = { a: a.prompt, b: b.prompt, same: a.prompt === b.prompt };
  const firstDifference = steps.find(({ same }) => !same)?.number ?? null;
  return { same: prompt.same && firstDifference === null, firstDifference, prompt, steps };
}

function compared(step: Step | null) {
  const worktree = step && worktreeIn(step);
  const meta = worktree
    ? { ...step.meta, worktree: [worktree.name, worktree.tree] }
    : (step?.meta ?? null);
  return step && [step.role, step.content, meta];
}

/** A worktree of two threads, with its last commit in each. */
export type ComparedTree = { name: string; repository: string; a: string; b: string };

/** Pairs the worktrees of two threads. A worktree that only one thread has is compared with its base commit. */
export function comparedTrees(
  a: Pick<ThreadView, "steps">,
  b: Pick<ThreadView, "steps">,
): ComparedTree[] {
  const [inA, inB] = [treesOf(a.steps), treesOf(b.steps)];
  const names = new Set([...inA.keys(), ...inB.keys()]);
  return [...names].toSorted().flatMap((key) => {
    const [left, right] = [inA.get(key), inB.get(key)];
    const first = left ?? right;
    if (!first) return [];
    const { name, repository, base } = first;
    return { name, repository, a: left?.commit ?? base, b: right?.commit ?? base };
  });
}

/** Returns the last commit of each worktree, with its base commit. */
function treesOf(steps: readonly Step[]): Map<string, WorktreeMeta> {
  const trees = new Map<string, WorktreeMeta>();
  for (const step of steps) {
    const found = worktreeIn(step);
    if (!found) continue;
    const key = `${found.name} ${found.repository}`;
    trees.set(key, { ...found, base: trees.get(key)?.base ?? found.base });
  }
  return trees;
}

/** Whether two JSON values are equal; the order of keys is ignored. */
export function isSame(a: unknown, b: unknown): boolean {
  const pairs = [[a, b]];
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [one, other] = pair;
    if (one === other) continue;
    if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
    if (Array.isArray(one) !== Array.isArray(other)) return false;
    const others = new Map<string, unknown>(Object.entries(other));
    const entries = Object.entries(one) as [string, unknown][];
    if (entries.length !== others.size) return false;
    for (const [key, value] of entries) {
      if (!others.has(key)) return false;
      pairs.push([value, others.get(key)]);
    }
  }
  return true;
}
