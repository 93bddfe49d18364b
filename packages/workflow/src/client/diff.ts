import type { Step } from "../contract/contract.ts";
import type { Root } from "../storage/paths.ts";
import type { ThreadRef } from "../thread/thread.ts";
import { readThread } from "./threads.ts";

/** Two threads, step by step. Step numbers count from 1; timestamps are not compared. */
export type ThreadDiff = {
  same: boolean;
  /** The number of the first step that differs, or null when none does. */
  firstDifference: number | null;
  prompt: { a: string; b: string; same: boolean };
  steps: { number: number; a: Step | null; b: Step | null; same: boolean }[];
};

/** Compares two threads by their prompts and steps. */
export async function diffThreads(root: Root, a: ThreadRef, b: ThreadRef): Promise<ThreadDiff> {
  const [left, right] = [await readThread(root, a), await readThread(root, b)];
  const length = Math.max(left.steps.length, right.steps.length);
  const steps = Array.from({ length }, (_, index) => {
    const pair = { a: left.steps[index] ?? null, b: right.steps[index] ?? null };
    return { number: index + 1, ...pair, same: areSame(pair.a, pair.b) };
  });
  const prompt = { a: left.prompt, b: right.prompt, same: left.prompt === right.prompt };
  const firstDifference = steps.find(({ same }) => !same)?.number ?? null;
  return { same: prompt.same && firstDifference === null, firstDifference, prompt, steps };
}

const areSame = (a: Step | null, b: Step | null): boolean =>
  a !== null &&
  b !== null &&
  a.role === b.role &&
  a.content === b.content &&
  Bun.deepEquals(a.meta, b.meta);
