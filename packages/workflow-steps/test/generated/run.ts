import { type Bundle, INPUT, type RoleOutput, type Step } from "@uncaged/workflow";
import { type RunThreadOptions, runThread, type ThreadOutcome } from "@uncaged/workflow/testing";
import type { Adapters } from "../../src/adapter/adapter.ts";
import { stepsBundle } from "../../src/bundle/bundle.ts";
import { fold } from "../../src/bundle/thread.ts";
import type { Handler } from "../../src/context/context.ts";
import type { Checkpoint } from "../../src/state/checkpoint.ts";
import type { Generated } from "./draft.ts";

const threadId = "00000000000000000000000000";
const longestRun = 20_000;

/** Returns adapters in memory. The seed, the step and the number of the call determine the duration of a call. */
export function adaptersOf(seed: number): Adapters {
  const work = workOf(seed);
  const files = new Map<string, string | Uint8Array>();
  return {
    tool: { execute: async (_name, input) => ({ result: await work(input) }) },
    service: { call: async (_name, params) => ({ data: await work(params) }) },
    component: { call: (_id, params) => work(params) },
    file: {
      read: async (path) => files.get(path) ?? "",
      async write(path, data) {
        files.set(path, data);
        return { size_bytes: data.length };
      },
      exists: async (path) => files.has(path),
      remove: async (path) => void files.delete(path),
      list: async () => [...files.keys()],
    },
  };
}

/** Returns the handler of the custom step type. */
export function handlerOf(seed: number): Handler {
  const work = workOf(seed);
  return (context, step) => work(context.resolve(step.in));
}

function workOf(seed: number): (input: unknown) => Promise<unknown> {
  const counts = new Map<string, number>();
  return async (input) => {
    const { of, n = null, fail } = input as { of: string; n?: unknown; fail?: boolean };
    const count = (counts.get(of) ?? 0) + 1;
    counts.set(of, count);
    const chance = Bun.hash.crc32(`${seed} ${of} ${count}`);
    if (chance % 8 === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = (chance >>> 3) % 8; turn > 0; turn -= 1) await Promise.resolve();
    if (fail) throw new Error(`${of} was refused`);
    return { of, n };
  };
}

/** Returns the answer to a Pause, a function of the step's id. */
export const answerTo = (stepID: unknown): { to: unknown } => ({ to: stepID });

const bundles = new WeakMap<Generated, Bundle>();

function bundleOf(generated: Generated): Bundle {
  const { document, subflows, maxConcurrency, seed } = generated;
  const bundle = stepsBundle(document, {
    adapters: () => adaptersOf(seed),
    customHandlers: { Custom: handlerOf(seed) },
    subflows,
    maxConcurrency,
  });
  bundles.set(generated, bundle);
  return bundle;
}

/** Drives the workflow's bundle as a thread in memory, starting with the given steps. */
export async function runBundle(
  generated: Generated,
  steps: readonly Step[] = [],
  options: RunThreadOptions = {},
): Promise<ThreadOutcome> {
  const bundle = bundles.get(generated) ?? bundleOf(generated);
  const kept = JSON.parse(JSON.stringify(steps)) as Step[];
  const running = runThread(bundle.run, {
    threadId,
    steps: kept,
    maxRounds: 100_000,
    answers: ({ meta }) => JSON.stringify(answerTo(meta.stepID)),
    ...options,
  });
  return await inTime(running, `the run after ${steps.length} steps`);
}

/** Returns the checkpoint of a log. */
export const foldOf = ({ document, subflows }: Generated, steps: readonly Step[]): Checkpoint =>
  fold(document, { prompt: "", threadId, steps: [...steps], subflows });

/** Returns the results of a run, independent of the order. */
export function endOf(generated: Generated, steps: readonly Step[]) {
  const { artifacts, completedSteps, variables } = foldOf(generated, steps);
  return { artifacts, variables, completedSteps: completedSteps.toSorted() };
}

/** Returns the key of a step in a log: its role and its path. Returns null for marks and answers. */
export function keyOf({ role, meta }: RoleOutput): string | null {
  if (meta.phase === "mark" || role === INPUT) return null;
  const path = (meta.path ?? []) as { run?: string }[];
  const places = path.map((part) => (part.run === undefined ? part : { ...part, run: "" }));
  return JSON.stringify([role, meta.stepID, places, meta.phase, meta.child !== undefined]);
}

/** Counts each key in a log. */
export function countsOf(steps: readonly RoleOutput[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const step of steps) {
    const key = keyOf(step);
    if (key !== null) counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/** Throws if a run hangs. */
export async function inTime<Value>(work: Promise<Value>, what: string): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${what} does not end`)), longestRun);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
