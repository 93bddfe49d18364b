import { useQueryClient } from "@tanstack/react-query";
import type { HostEvents, PlanEvents, ThreadRow } from "@uncaged/workflow-server/api-types";
import { useEffect } from "react";
import { planKeys, takePlan } from "./plans.ts";
import type { Listed } from "./request.ts";
import { Stream } from "./stream.ts";
import { threadKeys } from "./threads.ts";
import { workflowKeys } from "./workflows.ts";

/** Minimum time between reads of the lists, in milliseconds. Changes in events are shown immediately. */
const readEveryMs = 1_500;
const atOnceMs = 50;

/** Keeps the lists of threads, workflows and plans up to date. */
export function useHostEvents(): void {
  const client = useQueryClient();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isFirst = true;
    let readAt = 0;
    const readSoon = () => {
      isFirst = false;
      // Longer lists take more requests, so they are read less often.
      const lists = client.getQueriesData<Pages>({ queryKey: threadKeys.lists });
      const mostPages = Math.max(1, ...lists.map(([, data]) => data?.pages.length ?? 1));
      const next = readAt + readEveryMs * mostPages;
      timer ??= setTimeout(
        () => {
          timer = undefined;
          // A new read would cancel the current one.
          if (client.isFetching({ queryKey: threadKeys.lists }) > 0) return readSoon();
          readAt = Date.now();
          void client.invalidateQueries({ queryKey: threadKeys.lists });
          void client.invalidateQueries({ queryKey: threadKeys.newest });
        },
        Math.max(atOnceMs, next - Date.now()),
      );
    };
    const change = (made: Change) => {
      client.setQueriesData<Pages>({ queryKey: threadKeys.lists }, (pages) =>
        pages ? changeRows(pages, made) : pages,
      );
      readSoon();
    };
    const stream = new Stream<HostEvents & PlanEvents>({
      thread: null,
      on: {
        reload: () => {
          // The first event arrives during the initial read.
          if (!isFirst) void client.invalidateQueries();
          readSoon();
        },
        thread: (row) => change({ row }),
        removed: ({ threadId }) => {
          change({ removed: threadId });
          // The page of an ended thread has no stream that reports the removal.
          void client.invalidateQueries({ queryKey: threadKeys.one(threadId) });
        },
        plans: () => void client.invalidateQueries({ queryKey: planKeys.all }),
        plan: (row) => takePlan(client, row.id, row),
        plan_removed: ({ id }) => takePlan(client, id, null),
        workflows: () => void client.invalidateQueries({ queryKey: workflowKeys.all }),
      },
    });
    return () => {
      stream.close();
      clearTimeout(timer);
    };
  }, [client]);
}

type Pages = { pages: Listed<ThreadRow>[]; pageParams: unknown[] };

type Change = { row: ThreadRow } | { removed: string };

/** Applies a change to the pages. Other rows change with the next read. */
export function changeRows({ pages, pageParams }: Pages, change: Change): Pages {
  const changed = pages.map(({ rows, ...page }) => ({
    ...page,
    rows:
      "removed" in change
        ? rows.filter(({ threadId }) => threadId !== change.removed)
        : rows.map((row) =>
            row.threadId === change.row.threadId ? { ...row, ...change.row } : row,
          ),
  }));
  return { pages: changed, pageParams };
}
