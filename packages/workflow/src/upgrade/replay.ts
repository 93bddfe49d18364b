import { messageOf } from "../contract/error.ts";
import { type Step, WAIT, type WorkflowFn } from "../contract/contract.ts";
import { difference, isBroken, stackOf } from "./difference.ts";
import { each } from "./each.ts";
import { type Probe, probe } from "./probe.ts";
import type { FoundDifference, Recording, ReplayOptions, Verdict } from "./recording.ts";
import { type RandomRange, realNow, surroundReplay, type Variables } from "./surroundings.ts";

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

/** A time with another hour, day, month and year. */
const later = 403.5 * 86_400_000 + 1;

async function whole(
  run: WorkflowFn,
  recording: Recording,
  { isSlow, limitMs, onProgress }: ReplayOptions,
): Promise<FoundDifference | null> {
  const { start, steps } = recording;
  const last = steps.at(-1)?.timestamp ?? start.timestamp;
  const passes: [number, RandomRange, Variables][] = [
    [last, "low", "given"],
    [last + later, "high", "given"],
    [realNow(), "whole", "given"],
    [last, "whole", "none"],
    [last, "whole", "all"],
  ];
  for (const [now, range, variables] of passes) {
    let limit = limitMs;
    const after = async (count: number, isQuiet = !isSlow) => {
      surroundReplay(now, range, variables);
      onProgress(isQuiet ? null : count);
      const found = await probe(run, recording, count, { limitMs: limit });
      if (found.end.by === "silent") limit = Math.min(limit, impatientMs);
      return found;
    };
    // A version may refuse to run without its variables.
    const differs = (found: Probe) =>
      variables === "given" ? isBroken(found, recording) : divergenceOf(found) !== null;
    for (let count = 0; isSlow && count < steps.length; count += 1) await after(count, false);
    const full = await after(steps.length);
    if (!differs(full)) continue;
    const count = await firstWhere(steps.length, async (n) => differs(await after(n)));
    const { end } = await after(count);
    // The version followed one step too many: the step before is the different step.
    const isLate = end.by === "threw" && end.isDivergence;
    const found = isLate
      ? {
          ...difference(recording, count - 1, await after(count - 1), limitMs),
          ...stackOf(end.thrown),
        }
      : difference(recording, count, { asked: [], end }, limitMs);
    const divergence = divergenceOf(full);
    if (found.recorded !== found.expected || divergence === null) return found;
    // Each replay differs, so that the first one can't be repeated.
    const at = Number(/^step (\d+) /.exec(messageOf(divergence))?.[1] ?? count);
    return difference(recording, at - 1, { asked: [], end: full.end }, limitMs);
  }
  return null;
}

const divergenceOf = ({ end }: Probe): unknown =>
  end.by === "threw" && end.isDivergence ? end.thrown : null;

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
