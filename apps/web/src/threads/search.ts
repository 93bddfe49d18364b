import type { Status } from "@uncaged/workflow-server/api-types";
import { statuses } from "../status/statuses.ts";

/** What the address of the Threads page holds. */
export type ThreadsSearch = {
  status?: Status[];
  workflow?: string;
  /** A part of an id or of a name. */
  q?: string;
  /** The workflow whose start form is open; empty to choose one. */
  start?: string;
};

/** Reads an address; what is no filter is left out. */
export function readThreadsSearch(search: Record<string, unknown>): ThreadsSearch {
  const text = (value: unknown) =>
    typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  const given = [search.status].flat();
  const status = statuses.filter((one) => given.includes(one));
  return {
    status: status.length > 0 ? status : undefined,
    workflow: text(search.workflow) || undefined,
    q: text(search.q) || undefined,
    start: text(search.start),
  };
}
