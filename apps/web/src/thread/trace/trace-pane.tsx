import { useVirtualizer } from "@tanstack/react-virtual";
import { Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { duration } from "../../lib/format.ts";
import { durationOf } from "../../lib/thread-log.ts";
import { Button } from "../../ui/button.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { useKeys } from "../../ui/page.tsx";
import { useFollowedEnd } from "../follow.ts";
import { type Axis, axisOf, type Span, ticksOf, waitsBelow, without } from "./axis.ts";
import { type Shown, shownRows } from "./folds.ts";
import { Minimap, type View, viewAround } from "./minimap.tsx";
import type { TraceRow } from "./rows.ts";
import { bars, columns, figure, more, type Piece, TraceLine } from "./trace-line.tsx";

type Props = {
  rows: readonly TraceRow[];
  selected: string | null;
  onSelect: (id: string) => void;
  /** The end of the running rows, in milliseconds since the epoch. */
  now: number;
  onOpen?: () => void;
  /** Whether new rows scroll into view, until the user scrolls up. */
  follows?: boolean;
  foot?: ReactNode;
};

const whole: View = { from: 0, to: 1 };
const long = 60;

/** The rows of a thread as a tree, each with a bar on a shared axis of time. Only visible rows are rendered. */
export function TracePane(props: Props) {
  const { rows, selected, onSelect, now, onOpen, follows = false, foot } = props;
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [words, setWords] = useState("");
  const [view, setView] = useState(whole);
  const shown = useMemo(() => shownRows(rows, folded, words), [rows, folded, words]);
  const axis = useMemo(() => axisOf(rows, now), [rows, now]);
  const waits = useMemo(() => waitsBelow(rows, now), [rows, now]);
  const scroller = useRef<HTMLDivElement>(null);
  const base = useId();
  const [rowPx] = useState(() => (matchMedia("(width < 40rem)").matches ? 44 : 32));
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: 8,
    getItemKey: (index) => shown[index]?.row.id ?? index,
  });
  const at = shown.findIndex(({ row }) => row.id === selected);
  const lines = useRef<HTMLDivElement>(null);
  useFollowedEnd(lines, follows);
  // Shows a row that is selected elsewhere, such as in the address.
  useEffect(() => {
    if (at >= 0 && !follows) virtual.scrollToIndex(at, { align: "auto" });
  }, [virtual, selected, at < 0, follows]);
  const fold = (id: string) => setFolded(toggled(folded, id));
  const press = (pressed: Element) => {
    const folding = pressed.closest<HTMLElement>("[data-fold]")?.dataset.fold;
    const index = pressed.closest<HTMLElement>("[data-index]")?.dataset.index;
    const row = shown[Number(index)]?.row;
    if (folding !== undefined) fold(folding);
    else if (row) onSelect(row.id);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moveOf(event.key, shown, at);
    if (event.key === "Enter") onOpen?.();
    else if (move === "fold" && selected !== null) fold(selected);
    else if (typeof move === "number") {
      const index = Math.min(shown.length - 1, Math.max(0, move));
      const row = shown[index]?.row;
      if (row) onSelect(row.id);
      virtual.scrollToIndex(index);
    } else return;
    event.preventDefault();
  };
  const zoom = (by: number) => {
    const row = shown[at]?.row;
    const middle = axis && row ? middleOf(row, axis, now) : (view.from + view.to) / 2;
    const isIn = middle > view.from && middle < view.to;
    const length = (view.to - view.from) * by;
    setView(viewAround(isIn || by < 1 ? middle : (view.from + view.to) / 2, length));
  };
  const zooms = [
    ["Zoom in", "+", <ZoomIn key="icon" />, () => zoom(0.5)],
    ["Zoom out", "-", <ZoomOut key="icon" />, () => zoom(2)],
    ["Show all of the time", "0", <Maximize2 key="icon" />, () => setView(whole)],
  ] as const;
  useKeys(Object.fromEntries(zooms.map(([, key, , act]) => [key, act])));
  const isZoomed = view.to - view.from < 1;
  return (
    <div className="@container flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex flex-none items-center gap-1 border-b px-4 py-2">
        <SearchField label="Search the trace" value={words} onChange={setWords} />
        <span className="flex-1" />
        <span className="flex @max-md:hidden">
          {zooms.map(([label, key, icon, act]) => (
            <Button
              key={key}
              look="quiet"
              icon={icon}
              aria-label={label}
              title={`${label} (${key})`}
              disabled={key !== "+" && !isZoomed}
              onClick={act}
            />
          ))}
        </span>
      </div>
      {axis && (rows.length > long || isZoomed) && (
        <div className="flex-none px-4 pt-2 @max-md:hidden">
          <Minimap rows={rows} axis={axis} now={now} view={view} onView={setView} />
        </div>
      )}
      <div
        ref={scroller}
        role="treegrid"
        aria-label="Trace"
        aria-rowcount={shown.length}
        aria-activedescendant={at >= 0 ? `${base}${selected ?? ""}` : undefined}
        tabIndex={0}
        className="min-h-0 flex-1 overflow-y-auto overscroll-contain -outline-offset-2"
        onKeyDown={onKey}
      >
        <Head axis={axis} view={view} />
        <div
          ref={lines}
          className="relative"
          role="rowgroup"
          style={{ height: virtual.getTotalSize() }}
          onClick={({ target }) => press(target as Element)}
        >
          {axis && <Bands axis={axis} view={view} />}
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const { row, isOpen } = shown[index] as Shown;
            return (
              <TraceLine
                key={key}
                id={`${base}${row.id}`}
                row={row}
                isOpen={isOpen}
                isSelected={row.id === selected}
                index={index}
                top={start}
                ms={lengthOf(row, now)}
                pieces={axis ? piecesOf(row, axis, view, now, waits.get(row.id) ?? []) : []}
              />
            );
          })}
        </div>
        {foot}
      </div>
    </div>
  );
}

function toggled(before: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const after = new Set(before);
  if (!after.delete(id)) after.add(id);
  return after;
}

/** The index to which a key moves the selection; `fold` to fold or unfold the selected row; null for other keys. */
function moveOf(key: string, shown: readonly Shown[], at: number): number | "fold" | null {
  const here = shown[at];
  switch (key) {
    case "ArrowDown":
      return at + 1;
    case "ArrowUp":
      return at - 1;
    case "Home":
      return 0;
    case "End":
      return shown.length - 1;
    case "PageDown":
      return at + 10;
    case "PageUp":
      return at - 10;
    case "ArrowRight":
      return here?.isOpen === false ? "fold" : here?.isOpen ? at + 1 : null;
    case "ArrowLeft": {
      if (here?.isOpen) return "fold";
      const parent = shown.findIndex(({ row }) => row.id === here?.row.parent);
      return parent < 0 ? null : parent;
    }
    default:
      return null;
  }
}

const isOngoing = ({ status }: TraceRow): boolean => status === "running" || status === "waiting";

const lengthOf = (row: TraceRow, now: number): number | null =>
  row.status === "copied" ? null : durationOf(row, isOngoing(row) ? now : null);

function piecesOf(
  row: TraceRow,
  axis: Axis,
  { from, to }: View,
  now: number,
  waits: readonly Span[],
): Piece[] {
  const { startedAt, status } = row;
  const end = row.endedAt ?? (isOngoing(row) ? now : null);
  if (startedAt === null || end === null || status === "copied") return [];
  const spans = without({ from: startedAt, to: Math.max(startedAt, end) }, waits);
  return spans.flatMap((span) => {
    const left = (axis.at(span.from) - from) / (to - from);
    const right = (axis.at(span.to) - from) / (to - from);
    if (right < 0 || left > 1) return [];
    const begin = Math.max(0, left);
    return [{ left: round(begin), width: round(Math.min(1, right) - begin) }];
  });
}

/** A share in percent. Few digits, so that a row is drawn again only for a visible change. */
const round = (share: number): number => Math.round(share * 5_000) / 50;

function middleOf({ startedAt, endedAt }: TraceRow, axis: Axis, now: number): number {
  if (startedAt === null) return 0.5;
  return (axis.at(startedAt) + axis.at(endedAt ?? now)) / 2;
}

const place = (at: number, { from, to }: View): number => ((at - from) / (to - from)) * 100;
const mostTicks = 4;

const notchStyle = (at: number, to: number, view: View) => ({
  left: `${place(at, view)}%`,
  width: `max(3px, ${place(to, view) - place(at, view)}%)`,
});

function Head({ axis, view }: { axis: Axis | null; view: View }) {
  const share = view.to - view.from;
  const ticks = axis ? ticksOf(axis.workMs, mostTicks / share) : [];
  return (
    <div
      role="row"
      className={`${columns} sticky top-0 z-10 h-7 border-b bg-surface text-small text-faint`}
    >
      <span role="columnheader">Name</span>
      <span role="columnheader" className="relative h-full overflow-hidden @max-md:sr-only">
        <span className="sr-only">Time</span>
        {ticks
          .map((ms) => ({ ms, left: place(axis?.atWork(ms) ?? 0, view) }))
          .filter(({ left }) => left >= 0 && left < 96)
          .map(({ ms, left }) => (
            <span
              key={ms}
              aria-hidden
              className="absolute inset-y-0 flex items-center border-l pl-1 whitespace-nowrap"
              style={{ left: `${left}%` }}
            >
              {ms === 0 ? "0" : duration(ms)}
            </span>
          ))}
        {axis?.notches.map(({ at, to, ms, reason }) => (
          <span
            key={at}
            title={`${reason}: ${duration(ms)}`}
            className="absolute inset-y-0 z-10 border-x border-dashed border-line-strong bg-sunken"
            style={notchStyle(at, to, view)}
          >
            <span className="sr-only">
              {reason}: {duration(ms)}
            </span>
          </span>
        ))}
      </span>
      <span role="columnheader" className={figure}>
        Took
      </span>
      <span role="columnheader" className={`${figure} ${more}`}>
        Tokens
      </span>
      <span role="columnheader" className={`${figure} ${more}`}>
        Cost
      </span>
    </div>
  );
}

function Bands({ axis, view }: { axis: Axis; view: View }) {
  return (
    <div
      aria-hidden
      className={`${columns} pointer-events-none absolute inset-0 items-stretch! @max-md:hidden`}
    >
      <span />
      <span className={`${bars} overflow-hidden`}>
        {axis.notches.map(({ at, to }) => (
          <span
            key={at}
            className="absolute inset-y-0 border-x border-dashed border-line bg-sunken"
            style={notchStyle(at, to, view)}
          />
        ))}
      </span>
    </div>
  );
}
