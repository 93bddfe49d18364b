import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import type { Listed } from "../api/request.ts";

/** The pages of a list that were read so far. */
export type Pages = { pages: Listed<ThreadRow>[]; pageParams: unknown[] };

/** A change of one thread: its row as it is now, or that it is removed. */
export type Change = { row: ThreadRow } | { removed: string };

/** The pages with a change. A row that they do not hold is left to the next reading. */
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
