import { type LedgerRecord, type Run, runsOf } from "./runs.ts";
import { spentOf, usageOf } from "./tally.ts";

/** A thread's debug log. When a worker drives the thread, what it does now is not lost. */
export type LedgerLog = { records: Iterable<LedgerRecord>; isLive: boolean };

/** What calls spent that no step tells of, as a step's meta would. */
export type Entry = {
  number: number;
  role: string;
  meta: Record<string, unknown>;
  kind: "own" | "lost";
};

type Step = { role: string; meta: Record<string, unknown> };

/**
 * What the debug log tells and no step does: what runs spent whose step was never committed, and what a
 * step's calls spent that itself says nothing of it. `unknown` counts the calls that broke off before
 * all of their tokens were told.
 *
 * @param saved How many of the first steps a fork brought along.
 * @param kept What the end record keeps of a step that failed.
 */
export function untold(
  steps: readonly Step[],
  saved: number,
  kept: Step | null,
  { records, isLive }: LedgerLog,
): { entries: Entry[]; unknown: number } {
  const { runs, driving } = runsOf(records);
  const isOver = (run: Run): boolean =>
    run.driving < driving || (run.isRole ? run.end !== null : run.step <= steps.length);
  const over = runs.filter((run) => !isLive || isOver(run));
  const told = new PartialUsage(steps, saved, kept);
  // A step is committed a little after its run is done.
  const isComing = (run: Run): boolean => isLive && run.driving === driving && run.end === "done";
  const counted = over.map((run) => ({ run, taken: told.takes(run) }));
  const settled = counted.filter(({ run, taken }) => taken || !isComing(run));
  const rest = settled.filter(({ taken }) => !taken).map(({ run }) => run);
  const entries = rest.flatMap((run) => told.entryOf(run, rest));
  return { entries, unknown: settled.reduce((sum, { run }) => sum + run.unknown, 0) };
}

/** The steps with what they tell, each of which is one run's. */
class PartialUsage {
  readonly #steps: readonly Step[];
  readonly #saved: number;
  readonly #untaken = new Map<string, (number | null)[]>();
  readonly #taken = new Set<number>();

  constructor(steps: readonly Step[], saved: number, kept: Step | null) {
    this.#steps = steps;
    this.#saved = saved;
    for (const [index, step] of steps.entries()) if (index >= saved) this.#add(step, index);
    if (kept !== null) this.#add(kept, null);
  }

  /** Whether a step tells what a run spent. */
  takes({ role, spent }: Run): boolean {
    const [index, ...others] = this.#untaken.get(keyOf(role, spent)) ?? [];
    if (index === undefined) return false;
    this.#untaken.set(keyOf(role, spent), others);
    if (index !== null) this.#taken.add(index);
    return true;
  }

  /** What a run is to be counted as that no step tells of: nothing when one tells of several together. */
  entryOf(run: Run, rest: readonly Run[]): Entry[] {
    const { role, step: number, spent: meta } = run;
    const step = this.#stepOf(run, rest);
    if (step === null) return [{ number, role, meta, kind: "lost" }];
    return spentOf(step.meta) === null ? [{ number, role: step.role, meta, kind: "own" }] : [];
  }

  /** The step that came of a run though it doesn't tell what this one spent. */
  #stepOf({ step: number, driving }: Run, rest: readonly Run[]): Step | null {
    const index = number - 1;
    const step = this.#steps[index];
    if (!step || index < this.#saved || this.#taken.has(index)) return null;
    // What ran before in its place was broken off; a reserved role is no agent's.
    if (rest.some((other) => other.step === number && other.driving > driving)) return null;
    return step.role.startsWith("__") ? null : step;
  }

  #add({ role, meta }: Step, index: number | null): void {
    const key = keyOf(role, meta);
    const same = this.#untaken.get(key);
    if (same) same.push(index);
    else if (usageOf(meta.usage) !== null) this.#untaken.set(key, [index]);
  }
}

const keyOf = (role: string, { usage }: Record<string, unknown>): string => {
  const { input_tokens, output_tokens, thinking_tokens, cache_read_tokens, cache_write_tokens } =
    usageOf(usage) ?? {};
  const counts = [input_tokens, output_tokens, thinking_tokens];
  return JSON.stringify([role, ...counts, cache_read_tokens, cache_write_tokens]);
};
