import { useQuery } from "@tanstack/react-query";
import type { Status, Thread } from "@uncaged/workflow-server/api-types";
import { useMemo } from "react";
import { type ThreadLog, useThreadLog } from "../../lib/thread-log.ts";
import { threadQuery } from "../../lib/threads.ts";
import { type TraceRow, traceRows } from "../trace/rows.ts";

/** A thread with its log and its rows, live. All fields but `log` and `rows` are null without a thread. */
export type Run = {
  threadId: string | null;
  thread: Thread | null;
  log: ThreadLog;
  status: Status | null;
  rows: readonly TraceRow[];
  error: Error | null;
  refetch: () => void;
};

export function useRun(threadId: string | null): Run {
  const log = useThreadLog(threadId);
  const { data, error, refetch } = useQuery({
    ...threadQuery(threadId ?? ""),
    enabled: threadId !== null,
  });
  const thread = threadId === null ? null : (data ?? null);
  // The thread reports a move before the stream does.
  const status = thread?.status === "moved" ? "moved" : (log.status ?? thread?.status ?? null);
  const rows = useMemo(() => traceRows(log), [log, log.version, status]);
  return { threadId, thread, log, status, rows, error, refetch: () => void refetch() };
}
