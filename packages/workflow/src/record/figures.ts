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

/** Spending and failures of a role or a model. */
export type NamedFigures = {
  name: string;
  calls: number;
  tokens: number;
  cost: number;
  failed: number;
};

/** The newest failed thread of a version. `at` is the time of the failure. */
export type VersionFailure = { threadId: string; subject: string; error: string; at: number };

/** Ended threads of one day in UTC, which begins at `at`. */
export type DayFigures = { at: number; completed: number; failed: number };

/**
 * Figures of a version's threads. Percentiles are of `workedMs` of ended threads, null without one. Cost and tokens
 * include threads that have not ended. `days` are the days of the last 30 with threads, oldest first.
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

/** The figures of a version without threads. */
export const noFigures: VersionFigures = {
  ...{ completed: 0, failed: 0, p50Ms: null, p95Ms: null, cost: 0, tokens: 0 },
  ...{ newestFailure: null, days: [], roles: [], models: [] },
};
