import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import { useEffect, useRef, useState } from "react";
import { useNow } from "../../lib/format.ts";
import { loadPart } from "../../lib/request.ts";
import { useConnection } from "../../lib/connection.ts";
import { isLive } from "../../lib/threads.ts";
import { Spacer, useKeys, useListKeys } from "../../ui/page.tsx";
import type { Selection } from "./selection.ts";
import { columns, grid, Row, type RowsView } from "./thread-row.tsx";

type Props = {
  rows: readonly ThreadRow[];
  hasMore: boolean;
  search: string;
  selection: Selection;
  isSelecting: boolean;
  onEnd: () => void;
  onCopy: (id: string) => void;
};

/** Number of rows that appear before the code of the virtual list has loaded. */
const mostPlain = 12;
const rowPx = 56;
/** Number of rows below the visible rows at which more are read. */
const nearEnd = 30;

type Virtual = typeof import("./virtual-rows.tsx")["VirtualRows"];
let loaded: Virtual | null = null;

/** The virtual list, whose code loads after the first rows; null until then. */
function useVirtual(): Virtual | null {
  const [Rows, show] = useState(() => loaded);
  const connection = useConnection();
  useEffect(() => {
    const load = async () => {
      loaded = (await loadPart(() => import("./virtual-rows.tsx"))).VirtualRows;
      show(() => loaded);
    };
    // The page reports a lost connection, and a reconnect loads again.
    void load().catch(() => undefined);
  }, [connection]);
  return Rows;
}

/** The list of threads. Only visible rows are rendered. */
export function ThreadTable(props: Props) {
  const { rows, hasMore, search, selection, isSelecting, onEnd, onCopy } = props;
  const body = useRef<HTMLDivElement>(null);
  const [shown, show] = useState<string | null>(null);
  const VirtualRows = useVirtual();
  // The rows stay mounted when the virtual list arrives, so that they keep the focus.
  const [view, setView] = useState<RowsView | null>(null);
  const first = Array.from({ length: Math.min(rows.length, mostPlain) }, (_, index) => index);
  const visible = view?.rows ?? first.map((index) => ({ index, offset: null }));
  const lastSeen = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (view && hasMore && lastSeen >= rows.length - nearEnd) onEnd();
  });
  useListKeys({
    list: body,
    target: "a",
    length: view ? rows.length : first.length,
    show: view?.show,
  });
  const now = useNow(
    1_000,
    rows.some(({ status, sleepingUntil }) => isLive(status) || sleepingUntil !== undefined),
  );
  const focused = (act: (row: ThreadRow, index: number) => void) => () => {
    const index = Number(
      document.activeElement?.closest("[data-index]")?.getAttribute("data-index"),
    );
    const row = document.activeElement?.closest("[data-index]") ? rows[index] : undefined;
    if (row) act(row, index);
  };
  const showDetails = ({ threadId }: ThreadRow) => show(threadId === shown ? null : threadId);
  useKeys({
    x: focused((_, index) => selection.toggle(index, false)),
    X: focused((_, index) => selection.toggle(index, true)),
    i: focused(showDetails),
    c: focused(({ threadId }) => onCopy(threadId)),
    Escape: selection.clear,
  });
  const selected = selection.rows.length;
  return (
    <div
      className="panel"
      role="table"
      aria-label="Threads"
      aria-rowcount={hasMore ? -1 : rows.length + 1}
    >
      <div
        className={`${grid} sticky top-below z-5 h-8 rounded-t-lg border-b bg-surface text-small text-faint max-md:hidden`}
        role="row"
        aria-rowindex={1}
      >
        <div role="columnheader" className="flex">
          <input
            type="checkbox"
            className="size-4 accent-solid"
            aria-label="Select all loaded threads"
            ref={(box) => {
              if (box) box.indeterminate = selected > 0 && selected < rows.length;
            }}
            checked={selected === rows.length}
            onChange={selection.toggleAll}
          />
        </div>
        {columns.map(({ name, both }) => (
          <div key={name} role="columnheader" className={both}>
            {name}
          </div>
        ))}
        <div role="columnheader" className="max-lg:hidden">
          <span className="sr-only">Details</span>
        </div>
      </div>
      <div ref={body} className="relative" role="rowgroup">
        {VirtualRows && (
          <>
            <Spacer height={view?.height ?? rows.length * rowPx} />
            <VirtualRows rows={rows} list={body} estimatedPx={rowPx} onView={setView} />
          </>
        )}
        {visible.map(({ index, offset }) => {
          const row = rows[index];
          return (
            row && (
              <Row
                key={row.threadId}
                {...{ row, index, now, search, isSelecting, offset }}
                measure={view?.measure}
                isSelected={selection.has(row)}
                isShown={row.threadId === shown}
                onSelect={(isRange) => selection.toggle(index, isRange)}
                onShow={() => showDetails(row)}
              />
            )
          );
        })}
      </div>
    </div>
  );
}
