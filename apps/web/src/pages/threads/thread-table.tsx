import { Link } from "@tanstack/react-router";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import { type Ref, useEffect, useLayoutEffect, useRef, useState } from "react";
import { StatusBadge } from "../../features/status/status.tsx";
import { ago, cost, count, duration, moment, roleName, tokens, useNow } from "../../lib/format.ts";
import { isLive } from "../../lib/threads.ts";
import { useListKeys } from "../../ui/page.tsx";
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
  const show = (index: number) => virtual.scrollToIndex(index);
  useListKeys({ list: body, target: "a", length: rows.length, show });
  return (
    <div
      className="raised"
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

type TableRowProps = {
  ref: Ref<HTMLDivElement>;
  row: ThreadRow;
  now: number;
  index: number;
  /** Pixels below the top of the list. */
  top: number;
};

function TableRow({ ref, row, now, index, top }: TableRowProps) {
  const { threadId, workflow, hash, status, steps, role, spent, createdAt, updatedAt } = row;
  const elapsed = (isLive(status) ? Math.max(now, updatedAt) : updatedAt) - createdAt;
  return (
    <div
      ref={ref}
      className={styles.row}
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      style={{ transform: `translateY(${top}px)` }}
    >
      <div role="cell" className={styles.status}>
        <StatusBadge status={status} />
      </div>
      <div role="cell" className={styles.workflow}>
        <span className="strong">{workflow}</span>
        <span className={styles.hash} title={hash}>
          {hash.slice(0, 6)}
        </span>
      </div>
      <div role="cell" className={styles.id}>
        <Link to="/threads/$id" params={{ id: threadId }} className="stretched">
          {threadId}
        </Link>
      </div>
      <div role="cell" className={styles.steps}>
        {count(steps)}
        <span className={styles.unit}> {steps === 1 ? "step" : "steps"}</span>
      </div>
      <div role="cell" className={styles.role}>
        {role ? roleName(role) : "–"}
      </div>
      <div role="cell" className={styles.elapsed}>
        {duration(elapsed)}
      </div>
      <div role="cell" className={styles.tokens}>
        {tokens(spent?.tokens ?? 0)}
      </div>
      <div role="cell" className={styles.cost}>
        {cost(spent?.cost ?? 0)}
      </div>
      <div role="cell" className={styles.started} title={moment(createdAt)}>
        {ago(createdAt, now)}
      </div>
    </div>
  );
}
