import { type Step, WAIT, type WorkflowFn } from "../contract/contract.ts";
import { difference, isBroken, stackOf } from "./difference.ts";
import { each } from "./each.ts";
import { probe } from "./probe.ts";
import type { FoundDifference, Recording, ReplayOptions, Verdict } from "./recording.ts";
import { type RandomRange, surroundReplay } from "./surroundings.ts";

/** Time for an answer of a workflow that was silent before, in milliseconds. */
export const impatientMs = 1_000;

/**
 * Replays a thread on a version: compares the record with the steps that the version requests. Runs no role and writes
 * nothing.
 *
 * A version that checks recorded steps itself (`durable`) gets the whole record, several times with other clocks and
 * random numbers. Any other version must return its next step after each recorded step. Copied steps of a fork are then
 * not compared: a thread of another workflow or prompt may have made them.
 */
export async function replay(
  run: WorkflowFn,
  recording: Recording,
  options: ReplayOptions,
): Promise<Verdict> {
  const compare = (await checksSteps(run, recording, options)) ? whole : each;
  const at = await compare(run, recording, options);
  if (at !== null) return { status: "diverges", at };
  if (recording.end !== null) return { status: "ended", at: null };
  return { status: recording.steps.at(-1)?.role === WAIT ? "waits" : "continues", at: null };
}

const unlikely: Step = { role: "\0", content: "", meta: {}, timestamp: 0 };

/** Whether a version refuses a recorded step that it does not request. */
async function checksSteps(
  run: WorkflowFn,
  { start }: Recording,
  { limitMs, onProgress }: ReplayOptions,
): Promise<boolean> {
  onProgress(0);
  const { end } = await probe(run, { start, steps: [unlikely], end: null }, 1, { limitMs });
  return end.by === "threw" && end.isDivergence;
}

const hour = 3_600_000;

async function whole(
  run: WorkflowFn,
  recording: Recording,
  { isSlow, limitMs, onProgress }: ReplayOptions,
): Promise<FoundDifference | null> {
  const { start, steps } = recording;
  const last = steps.at(-1)?.timestamp ?? start.timestamp;
  const passes: [number, RandomRange][] = [
    [last, "low"],
    [last + 12 * hour + 1, "high"],
    [Date.now(), "whole"],
  ];
  for (const [now, range] of passes) {
    let limit = limitMs;
    const after = async (count: number, isQuiet = !isSlow) => {
      surroundReplay(now, range);
      onProgress(isQuiet ? null : count);
      const found = await probe(run, recording, count, { limitMs: limit });
      if (found.end.by === "silent") limit = Math.min(limit, impatientMs);
      return found;
    };
    const isBrokenAfter = async (count: number) => isBroken(await after(count), recording);
    for (let count = 0; isSlow && count < steps.length; count += 1) await after(count, false);
    if (!(await isBrokenAfter(steps.length))) continue;
    const count = await firstWhere(steps.length, isBrokenAfter);
    const { end } = await after(count);
    // The version followed one step too many: the step before is the different step.
    if (end.by === "threw" && end.isDivergence) {
      const before = await after(count - 1);
      return { ...difference(recording, count - 1, before, limitMs), ...stackOf(end.thrown) };
    }
    return difference(recording, count, { asked: [], end }, limitMs);
  }
  return null;
}

/** Returns the smallest number up to `last` from which on a condition always holds. */
async function firstWhere(last: number, holds: (n: number) => Promise<boolean>): Promise<number> {
  let [low, high] = [0, last];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
