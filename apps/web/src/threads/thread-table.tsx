import { useWindowVirtualizer } from "@tanstack/react-virtual";
import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { useNow } from "../format/use-now.ts";
import { useKeys } from "../shell/keys.ts";
import { isLive } from "../status/statuses.ts";
import { TableRow } from "./table-row.tsx";
import styles from "./thread-table.module.css";

type Props = {
  rows: readonly ThreadRow[];
  hasMore: boolean;
  /** The reader has come near the end of what was read. */
  onEnd: () => void;
};

const columns = [
  "Status",
  "Workflow",
  "Thread",
  "Steps",
  "Role",
  "Elapsed",
  "Tokens",
  "Cost",
  "Started",
];
const nearEnd = 30;

/** The list of threads. However long it is, only what is seen is made. */
export function ThreadTable({ rows, hasMore, onEnd }: Props) {
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(body.current?.offsetTop ?? 0), []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => 41,
    overscan: 12,
    scrollMargin: top,
    getItemKey: (index) => rows[index]?.threadId ?? index,
  });
  const now = useNow(
    1_000,
    rows.some(({ status }) => isLive(status)),
  );
  const items = virtual.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastSeen >= rows.length - nearEnd) onEnd();
  });
  useRowKeys(body, (index) => virtual.scrollToIndex(index), rows.length);
  return (
    <div
      className={styles.table}
      role="table"
      aria-label="Threads"
      aria-rowcount={hasMore ? -1 : rows.length + 1}
    >
      <div className={styles.head} role="row" aria-rowindex={1}>
        {columns.map((column) => (
          <div key={column} role="columnheader">
            {column}
          </div>
        ))}
      </div>
      <div
        ref={body}
        className={styles.body}
        role="rowgroup"
        style={{ height: virtual.getTotalSize() }}
      >
        {items.map(({ index, key, start }) => {
          const row = rows[index];
          return (
            row && (
              <TableRow
                key={key}
                ref={virtual.measureElement}
                row={row}
                now={now}
                index={index}
                top={start - top}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

/** `j` and `k` go from row to row, `Enter` opens the one that has the focus. */
function useRowKeys(
  body: React.RefObject<HTMLDivElement | null>,
  show: (index: number) => void,
  length: number,
): void {
  const go = (by: number) => {
    const current = document.activeElement?.closest("[data-index]");
    const at = current ? Number(current.getAttribute("data-index")) + by : 0;
    const index = Math.min(Math.max(at, 0), length - 1);
    show(index);
    requestAnimationFrame(() => {
      body.current?.querySelector<HTMLElement>(`[data-index="${index}"] a`)?.focus();
    });
  };
  useKeys({ j: () => go(1), k: () => go(-1) });
}
