import { Link } from "@tanstack/react-router";
import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import { Info } from "lucide-react";
import type { ReactNode, Ref } from "react";
import {
  ago,
  cost,
  count,
  duration,
  moment,
  roleName,
  tokens,
  until,
  withoutMarks,
} from "../../lib/format.ts";
import { StatusLine } from "../../thread/status/status.tsx";
import { Copy } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { markedParts } from "./filter.ts";

type Cell = (row: ThreadRow, now: number, search: string) => ReactNode;

type Column = {
  name: string;
  /** Classes of the heading and the cells; `cell` has classes of the cells only. */
  both?: string;
  cell?: string;
  titleOf?: (row: ThreadRow) => string;
  show: Cell;
};

const figure = "text-right whitespace-nowrap";

/** The columns. The subject's link covers the row. On a phone, a row has two lines. */
export const columns: readonly Column[] = [
  {
    name: "Status",
    cell: "text-small max-md:row-span-2 max-md:self-start max-md:pt-0.5",
    show: ({ status, sleepingUntil, reason, steps }) => (
      <StatusLine
        status={status}
        sleepingUntil={sleepingUntil}
        stoppedAt={reason === undefined ? null : steps}
      />
    ),
  },
  {
    name: "Thread",
    cell: "flex flex-col compact:flex-row compact:items-baseline compact:gap-3 max-md:col-start-[-3] max-md:row-start-1",
    titleOf: ({ subject }) => subject,
    show: ({ threadId, subject, workflow, hash }, _, search) => (
      <>
        <Link
          to="/threads/$id"
          params={{ id: threadId }}
          className="stretched truncate font-semibold text-ink hover:no-underline"
        >
          <Marked text={subject || workflow} search={search} />
        </Link>
        <span className="truncate text-small text-muted compact:flex-none max-md:hidden">
          <Marked text={workflow} search={search} />{" "}
          <span className="ml-1 font-mono text-faint" title={`Version ${hash}`}>
            {hash.slice(0, 6)}
          </span>
        </span>
      </>
    ),
  },
  {
    name: "At",
    both: "max-md:col-start-[-3] max-md:row-start-2",
    cell: "truncate text-muted max-md:text-small",
    titleOf: ({ at, sleepingUntil }) =>
      sleepingUntil === undefined ? (at.text ?? "") : moment(sleepingUntil),
    show: (row, now, search) => (
      <>
        <span className="md:hidden">{row.workflow} · </span>
        <Place {...{ row, now, search }} />
      </>
    ),
  },
  {
    name: "Started",
    both: `${figure} max-md:col-start-[-2] max-md:row-start-1`,
    cell: "text-muted max-md:text-small",
    titleOf: ({ createdAt }) => moment(createdAt),
    show: ({ createdAt }, now) => ago(createdAt, now),
  },
  {
    name: "Worked",
    both: `${figure} max-md:col-start-[-2] max-md:row-start-2`,
    cell: "max-md:text-small max-md:text-muted",
    show: ({ status, workedMs, updatedAt }, now) =>
      duration(workedMs + (status === "running" ? Math.max(0, now - updatedAt) : 0)),
  },
  {
    name: "Cost",
    both: `${figure} max-lg:hidden`,
    cell: "text-muted",
    titleOf: ({ spent }) => `${count(spent.tokens)} tokens`,
    show: ({ spent }) => cost(spent.cost),
  },
];

export const grid =
  "grid grid-cols-[1rem_7.5rem_minmax(0,1.5fr)_minmax(0,1.3fr)_4.5rem_5rem_4.5rem_1.5rem] items-center gap-x-4 px-4 max-lg:grid-cols-[1rem_7.5rem_minmax(0,1.5fr)_minmax(0,1fr)_4.5rem_5rem]";

function Place({ row, now, search }: { row: ThreadRow; now: number; search: string }) {
  const { at, sleepingUntil, status } = row;
  if (sleepingUntil !== undefined) return `wakes ${until(sleepingUntil, now)}`;
  const role = at.role === null ? null : roleName(at.role);
  if (at.text === null) return role ?? "";
  return (
    <>
      {role !== null && (
        <>
          <Marked text={role} search={search} />
          <span className="text-faint"> · </span>
        </>
      )}
      <span className={status === "failed" || status === "waiting" ? "text-ink" : ""}>
        <Marked text={status === "waiting" ? withoutMarks(at.text) : at.text} search={search} />
      </span>
    </>
  );
}

const Marked = ({ text, search }: { text: string; search: string }) =>
  markedParts(text, search).map((part, index) =>
    part.isHit ? (
      <mark key={index} className="rounded-sm bg-accent-soft text-accent">
        {part.text}
      </mark>
    ) : (
      part.text
    ),
  );

/** The visible rows of a list, with their offsets in pixels from its top; null for a row in the flow. */
export type RowsView = {
  rows: readonly { index: number; offset: number | null }[];
  height: number;
  measure: Ref<HTMLDivElement>;
  show: (index: number) => void;
};

type Props = {
  row: ThreadRow;
  index: number;
  now: number;
  search: string;
  offset: number | null;
  measure: Ref<HTMLDivElement> | undefined;
  isSelected: boolean;
  isSelecting: boolean;
  isShown: boolean;
  onSelect: (isRange: boolean) => void;
  onShow: () => void;
};

// Controls in a row appear with the pointer or the focus, and always on a screen without a pointer.
const quiet =
  "relative z-1 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 checked:opacity-100 focus-visible:opacity-100 [@media(hover:none)]:opacity-100";

export function Row(props: Props) {
  const { row, index, now, search, offset, measure } = props;
  const { isSelected, isSelecting, isShown, onSelect, onShow } = props;
  const place = offset === null ? "relative" : "absolute inset-x-0 top-0";
  return (
    <div
      ref={measure}
      className={`${grid} group ${place} min-h-14 border-b last:border-b-0 focus-within:bg-hover hover:bg-hover max-md:gap-x-2 max-md:px-3 max-md:py-2 compact:min-h-9 ${isSelected ? "bg-accent-soft!" : ""} ${isSelecting ? "max-md:grid-cols-[2.5rem_1rem_1fr_auto]" : "max-md:grid-cols-[1rem_1fr_auto]"}`}
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      style={offset === null ? undefined : { transform: `translateY(${offset}px)` }}
    >
      <div
        role="cell"
        className={`flex ${isSelecting ? "max-md:row-span-2 max-md:justify-center" : "max-md:hidden"}`}
      >
        <input
          type="checkbox"
          className={`size-4 accent-solid max-md:size-6 ${quiet} ${isSelecting ? "opacity-100" : ""}`}
          aria-label={`Select ${row.subject}`}
          checked={isSelected}
          onChange={({ nativeEvent }) => onSelect((nativeEvent as MouseEvent).shiftKey)}
        />
      </div>
      {columns.map(({ name, both = "", cell = "", titleOf, show }) => (
        <div key={name} role="cell" className={`min-w-0 ${both} ${cell}`} title={titleOf?.(row)}>
          {show(row, now, search)}
        </div>
      ))}
      <div role="cell" className="max-lg:hidden">
        <IconButton
          className={quiet}
          icon={<Info />}
          label="Details"
          aria-expanded={isShown}
          title="Details (i)"
          onClick={onShow}
        />
      </div>
      {isShown && <Details row={row} />}
    </div>
  );
}

const Details = ({ row }: { row: ThreadRow }) => (
  <div
    role="cell"
    className="relative z-1 col-span-full flex flex-wrap items-center gap-x-5 gap-y-1 pb-3 pl-8 text-small text-muted max-md:pl-0"
  >
    <span className="flex items-center gap-1">
      <code>{row.threadId}</code>
      <Copy text={row.threadId} what="the id" />
    </span>
    <span>
      version <code>{row.hash}</code>
    </span>
    <span>{count(row.steps)} steps</span>
    <span>{tokens(row.spent.tokens)} tokens</span>
    <span>waited {duration(row.waitedMs)}</span>
    <span>updated {moment(row.updatedAt)}</span>
  </div>
);
