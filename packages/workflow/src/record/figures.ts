import type { ThreadRow } from "./thread.ts";
import { roundedCost } from "./tally.ts";
import type { NamedFigures, WorkFigures } from "./work-figures.ts";

/** Figures of the threads that started in one hour, which begins at `at`. Percentiles are of the time worked. */
export type HourFigures = {
  at: number;
  runs: number;
  failed: number;
  p50Ms: number | null;
  p95Ms: number | null;
  cost: number;
};

/** Figures of threads by the hour of their start. */
export type ThreadSummary = { hours: HourFigures[] };

/** The newest failed thread of a version. `at` is the time of the failure. */
export type VersionFailure = { threadId: string; subject: string; error: string; at: number };

/** Threads that started on one day in UTC, which begins at `at`. */
export type DayFigures = { at: number; completed: number; failed: number };

/**
 * Figures of a version's threads. Percentiles are of `workedMs` of ended threads, null without ended threads. Cost and
 * tokens include threads that have not ended. `days` has only days with threads, among the last 30 days, oldest first.
 */
export type VersionFigures = {
  completed: number;
  failed: number;
  p50Ms: number | null;
  p95Ms: number | null;
  cost: number;
  tokens: number;
  newestFailure: VersionFailure | null;
  days: DayFigures[];
  roles: NamedFigures[];
  models: NamedFigures[];
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const mostDays = 30;

/** The fields of a row that a summary needs. */
export type Summed = Pick<ThreadRow, "createdAt" | "status" | "workedMs"> & { cost: number };

const isOver = ({ status }: Pick<ThreadRow, "status">): boolean =>
  status === "completed" || status === "failed" || status === "killed";

/** Returns the value at a fraction of the sorted values, by the nearest rank. */
const percentile = (sorted: readonly number[], fraction: number): number | null =>
  sorted[Math.ceil(sorted.length * fraction) - 1] ?? null;

function percentilesOf(workedMs: number[]): { p50Ms: number | null; p95Ms: number | null } {
  const sorted = workedMs.sort((a, b) => a - b);
  return { p50Ms: percentile(sorted, 0.5), p95Ms: percentile(sorted, 0.95) };
}

/** Computes the figures of threads by hour. */
export class HourSums {
  readonly #hours = new Map<
    number,
    { runs: number; failed: number; cost: number; worked: number[] }
  >();

  add(row: Summed): void {
    const at = Math.floor(row.createdAt / hourMs) * hourMs;
    const hour = this.#hours.get(at) ?? { runs: 0, failed: 0, cost: 0, worked: [] };
    hour.runs += 1;
    if (row.status === "failed") hour.failed += 1;
    hour.cost += row.cost;
    if (isOver(row)) hour.worked.push(row.workedMs);
    this.#hours.set(at, hour);
  }

  get summary(): ThreadSummary {
    const hours = Array.from(this.#hours, ([at, { runs, failed, cost, worked }]) => {
      const { p50Ms, p95Ms } = percentilesOf(worked);
      return { at, runs, failed, p50Ms, p95Ms, cost: roundedCost(cost) };
    });
    return { hours: hours.sort((a, b) => a.at - b.at) };
  }
}

/** Computes the figures of a version from its threads. */
export class VersionSums {
  readonly #sum = { completed: 0, failed: 0, cost: 0, tokens: 0 };
  readonly #worked: number[] = [];
  readonly #days = new Map<number, DayFigures>();
  readonly #roles = new Map<string, NamedFigures>();
  readonly #models = new Map<string, NamedFigures>();
  #newest: VersionFailure | null = null;

  add(row: ThreadRow, { roles, models }: WorkFigures): void {
    const sum = this.#sum;
    const { status, spent } = row;
    const dayAt = Math.floor(row.createdAt / dayMs) * dayMs;
    const day = this.#days.get(dayAt) ?? { at: dayAt, completed: 0, failed: 0 };
    this.#days.set(dayAt, day);
    if (status === "completed" || status === "failed") {
      sum[status] += 1;
      day[status] += 1;
    }
    sum.cost += spent.cost;
    sum.tokens += spent.tokens;
    if (isOver(row)) this.#worked.push(row.workedMs);
    if (status === "failed" && row.updatedAt >= (this.#newest?.at ?? 0)) {
      const { threadId, subject, at, updatedAt } = row;
      this.#newest = { threadId, subject, error: at.text ?? "", at: updatedAt };
    }
    for (const one of roles) addNamed(this.#roles, one);
    for (const one of models) addNamed(this.#models, one);
  }

  /** Returns the figures. `now` is in the last of the 30 days. */
  figures(now: number): VersionFigures {
    const { completed, failed, cost, tokens } = this.#sum;
    const first = (Math.floor(now / dayMs) - mostDays + 1) * dayMs;
    const days = [...this.#days.values()].filter(({ at }) => at >= first);
    return {
      ...{ completed, failed, ...percentilesOf(this.#worked), cost: roundedCost(cost), tokens },
      newestFailure: this.#newest,
      days: days.sort((a, b) => a.at - b.at),
      ...{ roles: dearestFirst(this.#roles), models: dearestFirst(this.#models) },
    };
  }
}

function addNamed(sums: Map<string, NamedFigures>, one: NamedFigures): void {
  const sum = sums.get(one.name) ?? { name: one.name, calls: 0, tokens: 0, cost: 0, failed: 0 };
  sum.calls += one.calls;
  sum.tokens += one.tokens;
  sum.cost += one.cost;
  sum.failed += one.failed;
  sums.set(one.name, sum);
}

const dearestFirst = (sums: ReadonlyMap<string, NamedFigures>): NamedFigures[] =>
  Array.from(sums.values(), (one) => ({ ...one, cost: roundedCost(one.cost) })).sort(
    (a, b) => b.cost - a.cost || b.calls - a.calls || (a.name < b.name ? -1 : 1),
  );
