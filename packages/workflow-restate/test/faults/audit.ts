import { existsSync, readFileSync } from "node:fs";

/*
 * What threads did on the outside, as they did it: a bundle appends a line to a file at the beginning of each step, and
 * nothing of ours is between it and the file.
 */

/** That a step was begun: the thread, the step's number from 0, the process, and when. */
export type Effect = { thread: string; step: number; pid: number; at: number };

/** A bundle whose steps write their effects to `params.audit`. */
export const auditedBundle = `import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
export const descriptor = { description: "of the fault tests", roles: {} };
export async function* run(input, options) {
  const { audit, steps, ms } = input.params;
  for (let step = input.steps.length; step < steps; step += 1) {
    const effect = { thread: options.threadId, step, pid: process.pid, at: Date.now() };
    appendFileSync(audit, JSON.stringify(effect) + "\\n");
    await sleep(ms, undefined, { signal: options.signal });
    yield { role: "count", content: String(step), meta: { pid: process.pid } };
  }
  return { returnCode: 0, summary: "counted" };
}`;

export const readEffects = (file: string): Effect[] =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Effect)
    : [];

/**
 * What is wrong with a thread's effects, in the order in which they happened: a step that was never begun, and one that was
 * begun again when the next one had begun, which only happens once it is committed. A process that was frozen may write
 * late what it had begun before: `mayBeLate` is how often.
 */
export function violations(
  effects: readonly Effect[],
  steps: number,
  mayBeLate: (pid: number) => number,
): string[] {
  const found: string[] = [];
  const late = new Map<number, number>();
  let highest = -1;
  for (const { step, pid } of effects) {
    if (step > highest + 1) found.push(`step ${step} was begun, and step ${highest + 1} never was`);
    if (step < highest) {
      const times = (late.get(pid) ?? 0) + 1;
      late.set(pid, times);
      if (times > mayBeLate(pid)) found.push(`step ${step} ran again when ${highest} had begun`);
    }
    highest = Math.max(highest, step);
  }
  if (highest !== steps - 1) found.push(`the last step that was begun is ${highest}`);
  return found;
}
