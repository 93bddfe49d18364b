import { Link } from "@tanstack/react-router";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { StatusBadge } from "../../thread/status/status.tsx";
import {
  ago,
  cost,
  count,
  duration,
  moment,
  roleName,
  tokens,
  until,
  useNow,
} from "../../lib/format.ts";
import { isLive } from "../../lib/threads.ts";
import { Spacer, useListKeys } from "../../ui/page.tsx";

type Props = {
  rows: readonly ThreadRow[];
  hasMore: boolean;
  /** Called near the end of the loaded rows. */
  onEnd: () => void;
};

type Column = {
  name: string;
  /** Classes of the heading and the cells; `cell` has classes of the cells only. */
  both?: string;
  cell?: string;
  titleOf?: (row: ThreadRow) => string;
  show: (row: ThreadRow, now: number) => ReactNode;
};

// Classes that hide columns on narrower windows.
const wide = "max-2xl:hidden";
const roomy = "text-right max-md:hidden";

/** The columns. On medium windows the id's link invisibly covers the row; on narrow windows each row has two lines. */
const columns: readonly Column[] = [
  {
    name: "Status",
    cell: "flex max-md:col-start-2 max-md:row-start-1",
    show: ({ status, sleepingUntil, reason, steps }) => (
      <StatusBadge
        status={status}
        sleepingUntil={sleepingUntil}
        stoppedAt={reason === undefined ? null : steps}
      />
    ),
  },
  {
    name: "Workflow",
    cell: "max-md:col-start-1 max-md:row-start-1",
    show: ({ workflow, hash }) => (
      <>
        <span className="font-semibold">{workflow}</span>
        <span className="ml-2 font-mono text-small text-faint" title={hash}>
          {hash.slice(0, 6)}
        </span>
      </>
    ),
  },
  {
    name: "Thread",
    cell: "max-2xl:absolute max-2xl:inset-0",
    show: ({ threadId }) => (
      <Link
        to="/threads/$id"
        params={{ id: threadId }}
        className="stretched code text-muted max-2xl:text-transparent"
      >
        {threadId}
      </Link>
    ),
  },
  { name: "Steps", both: roomy, show: ({ steps }) => count(steps) },
  {
    name: "Role",
    cell: "text-muted max-md:col-start-1 max-md:row-start-2",
    titleOf: ({ sleepingUntil }) => (sleepingUntil === undefined ? "" : moment(sleepingUntil)),
    show: ({ at: { role }, sleepingUntil }, now) => {
      if (sleepingUntil !== undefined) return `wakes ${until(sleepingUntil, now)}`;
      return role ? roleName(role) : "–";
    },
  },
  {
    name: "Elapsed",
    both: "text-right",
    cell: "max-md:col-start-2 max-md:row-start-2 max-md:text-muted",
    show: ({ status, createdAt, updatedAt }, now) =>
      duration((isLive(status) ? Math.max(now, updatedAt) : updatedAt) - createdAt),
  },
  {
    name: "Tokens",
    both: `text-right ${wide}`,
    cell: "text-muted",
    show: ({ spent }) => tokens(spent.tokens),
  },
  { name: "Cost", both: roomy, cell: "text-muted", show: ({ spent }) => cost(spent.cost) },
  {
    name: "Started",
    both: `${roomy} max-lg:hidden`,
    cell: "text-muted",
    titleOf: ({ createdAt }) => moment(createdAt),
    show: ({ createdAt }, now) => ago(createdAt, now),
  },
];

const grid =
  "grid grid-cols-[10.5rem_minmax(8rem,1.4fr)_14.5rem_4rem_minmax(6rem,1fr)_6rem_5rem_5.25rem_5.25rem] items-center gap-3 px-4 max-2xl:grid-cols-[10.5rem_minmax(7rem,1.4fr)_4rem_minmax(5rem,1fr)_6rem_5rem_5.25rem] max-lg:grid-cols-[10.5rem_minmax(6rem,1.4fr)_4rem_minmax(5rem,1fr)_6rem_5rem]";
const nearEnd = 30;

/** The list of threads. Only visible rows are rendered. */
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
    rows.some(({ status, sleepingUntil }) => isLive(status) || sleepingUntil !== undefined),
  );
  const items = virtual.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastSeen >= rows.length - nearEnd) onEnd();
  });
  useListKeys({
    list: body,
    target: "a",
    length: rows.length,
    show: (index) => virtual.scrollToIndex(index),
  });
  return (
    <div
      className="panel shadow-sm"
      role="table"
      aria-label="Threads"
      aria-rowcount={hasMore ? -1 : rows.length + 1}
    >
      <div
        className={`${grid} sticky top-below z-5 h-8 rounded-t-lg border-b bg-sunken text-small font-semibold text-muted max-md:hidden`}
        role="row"
        aria-rowindex={1}
      >
        {columns.map(({ name, both }) => (
          <div key={name} role="columnheader" className={name === "Thread" ? wide : both}>
            {name}
          </div>
        ))}
      </div>
      <div ref={body} className="relative" role="rowgroup">
        <Spacer height={virtual.getTotalSize()} />
        {items.map(({ index, key, start }) => {
          const row = rows[index];
          if (!row) return null;
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              className={`${grid} absolute inset-x-0 top-0 min-h-[41px] border-b last:border-b-0 focus-within:bg-hover hover:bg-hover max-md:grid-cols-[1fr_auto] max-md:gap-x-3 max-md:gap-y-1 max-md:px-3 max-md:py-2`}
              role="row"
              aria-rowindex={index + 2}
              data-index={index}
              style={{ transform: `translateY(${start - top}px)` }}
            >
              {columns.map(({ name, both = "", cell = "", titleOf, show }) => (
                <div
                  key={name}
                  role="cell"
                  className={`min-w-0 truncate ${both} ${cell}`}
                  title={titleOf?.(row)}
                >
                  {show(row, now)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}
