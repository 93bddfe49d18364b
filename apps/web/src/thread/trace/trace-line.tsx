import {
  Brain,
  ChevronRight,
  Hourglass,
  type LucideIcon,
  MessageSquare,
  MessageSquareReply,
  Pause,
  RefreshCw,
  Repeat,
  Split,
  Wrench,
} from "lucide-react";
import { memo } from "react";
import { cost, duration, tokens, withoutMarks } from "../../lib/format.ts";
import { RowState } from "../../ui/states.tsx";
import { lineIn } from "./nodes.ts";
import type { TraceRow } from "./rows.ts";

export type Piece = { left: number; width: number };

type Props = {
  id: string;
  row: TraceRow;
  isOpen: boolean | null;
  isSelected: boolean;
  index: number;
  top: number;
  ms: number | null;
  pieces: readonly Piece[];
};

export const TraceLine = memo(
  function TraceLine(props: Props) {
    const { id, row, isOpen, isSelected, index, top, ms, pieces } = props;
    const { name, kind, status, depth } = row;
    const number = row.number ?? row.failedAt;
    const note = noteOf(row);
    return (
      <div
        id={id}
        role="row"
        aria-level={depth + 1}
        aria-rowindex={index + 1}
        aria-expanded={isOpen ?? undefined}
        aria-selected={isSelected}
        className={`${columns} absolute inset-x-0 top-0 h-8 cursor-pointer text-muted hover:bg-hover aria-selected:bg-accent-soft max-sm:h-11`}
        style={{ transform: `translateY(${top}px)` }}
        data-index={index}
      >
        <div
          role="gridcell"
          className="flex min-w-0 items-center gap-2"
          style={{ paddingLeft: `${Math.min(depth, deepest) * 16}px` }}
        >
          <span
            aria-hidden
            className="grid h-8 w-5 flex-none place-items-center"
            data-fold={isOpen === null ? undefined : row.id}
          >
            {isOpen !== null && (
              <ChevronRight className={`text-faint ${isOpen ? "rotate-90" : ""}`} />
            )}
          </span>
          <Mark row={row} />
          {number !== null && <span className="text-small text-faint">{number}</span>}
          <span
            className={`min-w-0 flex-[0_1_auto] truncate ${isMain(kind) ? "font-semibold text-ink" : ""}`}
          >
            {name}
          </span>
          {note && (
            <span className="min-w-0 flex-[1_1_0] truncate text-small text-faint">{note}</span>
          )}
          {status === "copied" && number !== null && (
            <span className="text-small text-faint">copied</span>
          )}
        </div>
        <div role="gridcell" className={bars}>
          {pieces.map(({ left, width }, at) => (
            <span
              key={at}
              className={`absolute top-1/2 -translate-y-1/2 rounded-sm ${looks[lookOf(row)]}`}
              style={{ left: `${left}%`, width: `max(2px, ${width}%)` }}
            />
          ))}
        </div>
        <div role="gridcell" className={figure}>
          {ms !== null && (ms > 0 || kind === "attempt") && duration(ms)}
        </div>
        <div role="gridcell" className={`${figure} ${more}`}>
          {row.tokens > 0 && tokens(row.tokens)}
        </div>
        <div role="gridcell" className={`${figure} ${more}`}>
          {row.cost !== null && row.cost > 0 && cost(row.cost)}
        </div>
      </div>
    );
  },
  (before, after) => isSameRow(before.row, after.row) && isSameFace(before, after),
);

/** The columns of a trace, by the width of its pane: names, bars, durations, tokens and costs. */
export const columns =
  "grid grid-cols-[minmax(0,1fr)_4rem] items-center gap-x-3 px-4 @md:grid-cols-[minmax(8rem,1fr)_minmax(5rem,1.1fr)_4rem] @2xl:grid-cols-[minmax(10rem,1fr)_minmax(8rem,1.1fr)_4rem_3.5rem_4rem]";
export const bars =
  "relative h-full @max-md:absolute @max-md:inset-x-4 @max-md:bottom-0.5 @max-md:h-1";
export const figure = "text-right text-small whitespace-nowrap";
export const more = "@max-2xl:hidden";

const deepest = 8;

function noteOf({ name, kind, card }: TraceRow): string {
  if (card === null || (kind !== "attempt" && kind !== "question" && kind !== "answer")) return "";
  const { attempt, step } = card;
  if (attempt.title !== null && attempt.title !== name) return attempt.title;
  const first = attempt.turns.length === 0 && step !== null ? lineIn(step.content) : "";
  const line = kind === "question" ? withoutMarks(first) : first;
  return line.startsWith(`${name}: `) ? line.slice(name.length + 2) : line;
}

const isMain = (kind: TraceRow["kind"]): boolean =>
  kind === "attempt" || kind === "loop" || kind === "branch" || kind === "iteration";

const icons: Partial<Record<TraceRow["kind"], LucideIcon>> = {
  loop: Repeat,
  branch: Split,
  thinking: Brain,
  text: MessageSquare,
  tool: Wrench,
  answer: MessageSquareReply,
  wait: Hourglass,
  pause: Pause,
  retry: RefreshCw,
};

/** The icon of a row's kind when the row is done, else the icon of its status. */
function Mark({ row: { kind, status } }: { row: TraceRow }) {
  const Icon = icons[kind];
  const isPlain = status === "done" || (kind === "pause" && status === "waiting");
  if (!Icon || !isPlain) return <RowState status={status} />;
  return (
    <span className="flex text-faint">
      <Icon />
      <span className="sr-only">
        {kind}, {status}
      </span>
    </span>
  );
}

const thick = "h-2 @max-md:h-1";
const looks = {
  ...{ done: `${thick} bg-solid`, failed: `${thick} bg-red`, running: `${thick} bg-blue` },
  ...{ other: `${thick} bg-line-strong`, around: "h-1 bg-line-control", part: "h-1 bg-solid/55" },
  lost: `${thick} bg-[repeating-linear-gradient(135deg,var(--color-line-control)_0_2px,transparent_2px_5px)] outline-1 -outline-offset-1 outline-line-control`,
  notch: `${thick} border border-dashed border-line-control`,
  open: `${thick} border border-dashed border-amber bg-amber-soft`,
} as const;

function lookOf({ kind, status }: TraceRow): keyof typeof looks {
  if (kind === "question" || kind === "wait" || kind === "pause" || kind === "retry")
    return status === "waiting" ? "open" : "notch";
  if (status === "failed" || status === "lost" || status === "running") return status;
  if (status !== "done" && status !== "parked") return "other";
  if (kind === "loop" || kind === "branch" || kind === "iteration") return "around";
  return kind === "attempt" ? "done" : "part";
}

function isSameRow(a: TraceRow, b: TraceRow): boolean {
  return (Object.keys(a) as (keyof TraceRow)[]).every((key) => a[key] === b[key]);
}

function isSameFace(a: Props, b: Props): boolean {
  return (
    a.isOpen === b.isOpen &&
    a.isSelected === b.isSelected &&
    a.top === b.top &&
    a.ms === b.ms &&
    a.pieces.length === b.pieces.length &&
    a.pieces.every(
      ({ left, width }, at) => left === b.pieces[at]?.left && width === b.pieces[at].width,
    )
  );
}
