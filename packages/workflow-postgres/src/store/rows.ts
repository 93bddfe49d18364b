import { type LogName, type ThreadInfo, type ThreadState } from "@uncaged/workflow/store";

/** A row of the table `threads`, without its entry for lists. `owner` is null if the lease has expired. */
export type ThreadRow = {
  thread_id: string;
  hash: string;
  name: string;
  created_at: number;
  updated_at: number;
  state: ThreadState["kind"];
  due_at: number | null;
  paused: boolean;
  postponed_until: number;
  moved_to: string | null;
  records: number;
  turns: number;
  events: number;
  long_values: number;
  record_sum: string;
  turn_sum: string;
  last_seq: number;
  fence: number;
  owner: string | null;
};

/** Returns the columns of a {@link ThreadRow}, for a table alias. */
export const columnsOf = (t: string): string =>
  [
    ...["thread_id", "hash", "name", "created_at", "updated_at", "state", "due_at", "paused"],
    ...[
      "postponed_until",
      "moved_to",
      "records",
      "turns",
      "events",
      "long_values",
      "record_sum",
      "turn_sum",
    ],
    ...["last_seq", "fence"],
  ]
    .map((name) => `${t}.${name}`)
    .concat(`CASE WHEN ${isHeld(t)} THEN ${t}.owner END AS owner`)
    .join(", ");

/** Returns the SQL condition that the lease of a thread's claim lasts, by the server's clock. */
export const isHeld = (t: string): string =>
  `(${t}.owner IS NOT NULL AND ${t}.lease_until > clock_timestamp())`;

/** The server's time in milliseconds since the epoch. */
export const serverNow = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

export const infoOf = (row: ThreadRow): ThreadInfo => ({
  hash: row.hash,
  threadId: row.thread_id,
  name: row.name,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  records: row.records,
  state: row.state === "waiting" ? { kind: "waiting", dueAt: row.due_at } : { kind: row.state },
  paused: row.paused,
  owner: row.owner,
  movedTo: row.moved_to,
  ...(row.postponed_until > 0 && { postponedUntil: row.postponed_until }),
});

/** The numbers of logs in the table `lines`. Values are the long contents of events. */
export const logNumbers: Readonly<Record<LogName | "values", number>> = {
  data: 0,
  journal: 1,
  events: 2,
  values: 3,
};

export const dueOf = (state: ThreadState): number | null =>
  state.kind === "waiting" ? state.dueAt : null;
