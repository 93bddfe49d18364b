import type { Status, ThreadRow } from "./thread.ts";

/** Selects threads by name, by version, or by both. */
export type Selector = { name?: string; hash?: string };

/** Limits of a row's figures. Times are in milliseconds; `minCost` is in US dollars. */
export type Limits = {
  /** Earliest `createdAt`. */
  since?: number | undefined;
  /** Latest `createdAt`. */
  until?: number | undefined;
  minWorkedMs?: number | undefined;
  minCost?: number | undefined;
  hasError?: true | undefined;
};

/** Selects rows: one of the statuses, one of the selectors, and all limits. Null matches all. */
export type RowFilter = {
  statuses: ReadonlySet<Status> | null;
  selectors: readonly Selector[] | null;
  limits: Limits;
};

/** Whether limits select by figures that change while a thread runs. */
export const limitsWork = ({ minWorkedMs, minCost, hasError }: Limits): boolean =>
  minWorkedMs !== undefined || minCost !== undefined || hasError !== undefined;

/** Whether any limit is set. */
export const isLimited = (limits: Limits): boolean =>
  limitsWork(limits) || limits.since !== undefined || limits.until !== undefined;

/** Whether a thread that started at this time is within the limits. */
export const startsWithin = (createdAt: number, { since, until }: Limits): boolean =>
  createdAt >= (since ?? Number.NEGATIVE_INFINITY) &&
  createdAt <= (until ?? Number.POSITIVE_INFINITY);

/** Whether a thread's name and hash fit one of the selectors. */
export const isSelected = (
  { workflow, hash }: Pick<ThreadRow, "workflow" | "hash">,
  selectors: readonly Selector[] | null,
): boolean =>
  !selectors ||
  selectors.some((one) => (one.name ?? workflow) === workflow && (one.hash ?? hash) === hash);

/** Whether a row is selected. */
export const matches = (row: ThreadRow, { statuses, selectors, limits }: RowFilter): boolean =>
  (!statuses || statuses.has(row.status)) &&
  isSelected(row, selectors) &&
  startsWithin(row.createdAt, limits) &&
  row.workedMs >= (limits.minWorkedMs ?? 0) &&
  row.spent.cost >= (limits.minCost ?? 0) &&
  (limits.hasError !== true || row.hasError);

/** Returns the limits of a query. */
export const limitsOf = ({ since, until, minWorkedMs, minCost, hasError }: Limits): Limits => ({
  ...{ since, until, minWorkedMs, minCost, hasError },
});
