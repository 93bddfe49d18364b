import { checksSteps, END, INPUT, WAIT, type WorkflowFn } from "../contract/contract.ts";
import { messageOf } from "../contract/error.ts";
import { isRecord } from "../contract/show.ts";
import { type Probe, probe } from "./probe.ts";
import { type FoundDifference, type Recording, sideOf, type Verdict } from "./recording.ts";
import { type RandomRange, surroundReplay } from "./surroundings.ts";

/** `limitMs` is the time for each answer of the workflow. `onProgress` is called often. */
export type ReplayOptions = { limitMs: number; onProgress: () => void };

/**
 * Replays a thread on a version: compares the record with the steps that the version asks for. No role runs and nothing
 * is written.
 *
 * A version that checks recorded steps itself (`durable`) gets the whole record, several times with other clocks and
 * random numbers. Any other version is asked at each recorded step for its next one. Copied steps of a fork are not
 * compared then: the thread of another workflow or prompt may have made them.
 */
export async function replay(
  run: WorkflowFn,
  recording: Recording,
  options: ReplayOptions,
): Promise<Verdict> {
  const at =
    checksSteps in run ? await whole(run, recording, options) : await each(run, recording, options);
  if (at !== null) return { status: "diverges", at };
  if (recording.end !== null) return { status: "ended", at: null };
  return { status: recording.steps.at(-1)?.role === WAIT ? "waits" : "continues", at: null };
}

const hour = 3_600_000;

async function whole(
  run: WorkflowFn,
  recording: Recording,
  { limitMs, onProgress }: ReplayOptions,
): Promise<FoundDifference | null> {
  const { start, steps } = recording;
  const last = steps.at(-1)?.timestamp ?? start.timestamp;
  const passes: [number, RandomRange][] = [
    [last, "whole"],
    [last + 12 * hour + 1, "low"],
    [Date.now(), "high"],
  ];
  for (const [now, range] of passes) {
    const after = (count: number) => {
      surroundReplay(now, range);
      onProgress();
      return probe(run, recording, count, { limitMs });
    };
    const found = await after(steps.length);
    if (!isBroken(found, recording)) continue;
    const count = await firstWhere(steps.length, async (one) =>
      isBroken(await after(one), recording),
    );
    const { end } = count === steps.length ? found : await after(count);
    // Followed one step too many: the step before is the different one.
    if (end.by === "threw" && end.isDivergence) {
      const before = await after(count - 1);
      return { ...difference(recording, count - 1, before), ...stackOf(end.thrown) };
    }
    return difference(recording, count, { asked: [], isWanted: false, end });
  }
  return null;
}

/** Returns the least number up to `last` where a condition holds that holds from then on. */
async function firstWhere(last: number, holds: (n: number) => Promise<boolean>): Promise<number> {
  let [low, high] = [0, last];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function each(
  run: WorkflowFn,
  recording: Recording,
  { limitMs, onProgress }: ReplayOptions,
): Promise<FoundDifference | null> {
  const { start, steps } = recording;
  for (let count = start.forkFrom?.steps ?? 0; count < steps.length; count += 1) {
    const wanted = steps[count];
    if (wanted === undefined || wanted.role === INPUT) continue;
    const times = [steps[count - 1]?.timestamp ?? start.timestamp, wanted.timestamp];
    const found: Probe[] = [];
    for (const now of times) {
      surroundReplay(now, "whole");
      onProgress();
      found.push(await probe(run, recording, count, { wanted, limitMs }));
      if (found.at(-1)?.isWanted || found.at(-1)?.end.by === "silent") break;
    }
    const [first] = found;
    if (first && !found.at(-1)?.isWanted) return difference(recording, count, first);
  }
  if (steps.at(-1)?.role === WAIT) return null;
  surroundReplay(steps.at(-1)?.timestamp ?? start.timestamp, "whole");
  const found = await probe(run, recording, steps.length, { limitMs });
  return isBroken(found, recording) ? difference(recording, steps.length, found) : null;
}

/** Whether a version fails after recorded steps. A thread that failed may fail again. */
function isBroken({ end, asked }: Probe, { end: reason }: Recording): boolean {
  if (end.by === "threw") return end.isDivergence || (reason !== "failed" && asked.length === 0);
  return end.by === "silent";
}

function difference(recording: Recording, count: number, { asked, end }: Probe): FoundDifference {
  const step = recording.steps[count];
  const last = recording.end === null ? null : END;
  const sides = { step: count + 1, recorded: step ? sideOf(step) : last };
  if (asked.length > 0) return { ...sides, expected: asked.join(" or "), role: asked[0] as string };
  if (end.by === "returned") return { ...sides, expected: END, ...(step && { role: step.role }) };
  if (end.by !== "threw") return { ...sides, expected: null };
  return { ...sides, expected: errorText(end.thrown), ...stackOf(end.thrown) };
}

const longest = 300;

function errorText(thrown: unknown): string {
  const name = thrown instanceof Error ? thrown.name : "Error";
  const [line = ""] = messageOf(thrown).split("\n", 1);
  return `${name}: ${line}`.slice(0, longest);
}

function stackOf(thrown: unknown): { stack?: string } {
  const stack = isRecord(thrown) ? thrown.stack : undefined;
  return typeof stack === "string" ? { stack: stack.slice(0, 4_000) } : {};
}
