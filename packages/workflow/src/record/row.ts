import { ulidTime } from "../contract/base32.ts";
import { sleepsUntil } from "../contract/wait.ts";
import type { LogFacts, StartRecord } from "./record.ts";
import type { ThreadRef, ThreadRow, ThreadStatus } from "./thread.ts";

/** What a row has of a thread's log. `steps` is their number. */
export type RowFacts = Pick<LogFacts, "end" | "last"> & { start: StartRecord; steps: number };

/** The row of a thread whose log can't be read. */
export function unknownRow({ threadId, hash }: ThreadRef): ThreadRow {
  const createdAt = ulidTime(threadId);
  const unknown = { workflow: "", steps: 0, createdAt, updatedAt: createdAt };
  return { threadId, hash, status: "corrupt", ...unknown };
}

/** The row of a thread in this state. `away` is the host that it has moved to. */
export function rowFrom(
  { threadId, hash }: ThreadRef,
  { start, end, last, steps }: RowFacts,
  state: ThreadStatus,
  away: string | null,
): ThreadRow {
  const { status } = state;
  const until = status === "waiting" ? sleepsUntil(last) : null;
  const reason = "result" in state ? state.result.reason : undefined;
  return {
    threadId,
    workflow: start.name,
    hash,
    status,
    ...(reason !== undefined && { reason }),
    steps,
    createdAt: start.timestamp,
    updatedAt: (end ?? last ?? start).timestamp,
    ...(until !== null && { sleepingUntil: until }),
    ...(away !== null && { movedTo: away }),
  };
}
