import type { Status } from "@uncaged/workflow-server/api-types";
import type { RequestQuery } from "./request.ts";

export const statuses: readonly Status[] = [
  "running",
  "waiting",
  "paused",
  "completed",
  "failed",
  "killed",
  "interrupted",
  "moved",
  "corrupt",
];

/** The filters of the list of threads, as in the page's address: `?status=failed,killed&since=24h&cost=1`. */
export type ThreadFilter = {
  /** Statuses, separated by commas. */
  status?: string;
  workflow?: string;
  /** A version of the workflow, or of any workflow: a hash or a prefix of it. */
  version?: string;
  /** An age such as `24h`, `today`, or a moment: see {@link timeOf}. */
  since?: string;
  until?: string;
  /** Minimum duration of work, such as `10m`. */
  worked?: string;
  /** Minimum cost in US dollars. */
  cost?: number;
  error?: true;
  /** The search words. */
  q?: string;
};

const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration in milliseconds: `90s`, `10m`, `24h`, `7d`. Null for another text. */
export function lengthOf(text: string): number | null {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([smhd])$/.exec(text.trim()) ?? [];
  return amount === undefined
    ? null
    : Math.round(Number(amount) * units[unit as keyof typeof units]);
}

/** A moment in milliseconds: `today`, an age such as `24h`, or a moment in ISO 8601. Null for another text. */
export function timeOf(text: string, now: number): number | null {
  if (text === "today") return new Date(now).setHours(0, 0, 0, 0);
  const age = lengthOf(text);
  if (age !== null) return Math.max(0, now - age);
  const at = Date.parse(text);
  return Number.isNaN(at) || at < 0 ? null : at;
}

/** The parameters of a request for the threads of a filter, without its times. */
export const queryOfFilter = (filter: ThreadFilter): RequestQuery => ({
  status: filter.status?.split(","),
  workflow:
    filter.workflow && filter.version
      ? `${filter.workflow}@${filter.version}`
      : (filter.workflow ?? filter.version),
  search: filter.q?.trim() || undefined,
  minWorkedMs: filter.worked === undefined ? undefined : (lengthOf(filter.worked) ?? undefined),
  minCost: filter.cost,
  hasError: filter.error,
});

/** The times of a filter in milliseconds. */
export const timesOf = ({ since, until }: ThreadFilter, now: number) => ({
  since: since === undefined ? undefined : (timeOf(since, now) ?? undefined),
  until: until === undefined ? undefined : (timeOf(until, now) ?? undefined),
});
