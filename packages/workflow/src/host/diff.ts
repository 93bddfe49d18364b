import type { Step } from "../contract/contract.ts";
import type { ThreadView } from "../thread/thread.ts";

/** Two threads, step by step. Step numbers count from 1; timestamps are not compared. */
export type ThreadDiff = {
  same: boolean;
  /** The number of the first step that differs, or null when none does. */
  firstDifference: number | null;
  prompt: { a: string; b: string; same: boolean };
  steps: { number: number; a: Step | null; b: Step | null; same: boolean }[];
};

/** Compares two threads by their prompts and steps. */
export function threadDiff(a: Compared, b: Compared): ThreadDiff {
  const length = Math.max(a.steps.length, b.steps.length);
  const steps = Array.from({ length }, (_, index) => {
    const pair = { a: a.steps[index] ?? null, b: b.steps[index] ?? null };
    return { number: index + 1, ...pair, same: areSame(pair.a, pair.b) };
  });
  const prompt = { a: a.prompt, b: b.prompt, same: a.prompt === b.prompt };
  const firstDifference = steps.find(({ same }) => !same)?.number ?? null;
  return { same: prompt.same && firstDifference === null, firstDifference, prompt, steps };
}

type Compared = Pick<ThreadView, "prompt" | "steps">;

const areSame = (a: Step | null, b: Step | null): boolean =>
  a !== null &&
  b !== null &&
  a.role === b.role &&
  a.content === b.content &&
  Bun.deepEquals(a.meta, b.meta);
