import { type PointerEvent, useMemo, useRef } from "react";
import type { Axis } from "./axis.ts";
import type { TraceRow } from "./rows.ts";

export type View = { from: number; to: number };

const leastView = 0.0005;

/** A part of the axis around a position, within the axis. */
export function viewAround(middle: number, length: number): View {
  const size = Math.min(1, Math.max(leastView, length));
  const from = Math.min(1 - size, Math.max(0, middle - size / 2));
  return { from, to: from + size };
}

type Props = {
  rows: readonly TraceRow[];
  axis: Axis;
  now: number;
  view: View;
  onView: (view: View) => void;
};

const size = { width: 1_000, height: 24 };

/** The whole trace in a strip, with the visible part. A drag selects another part. */
export function Minimap({ rows, axis, now, view, onView }: Props) {
  const begun = useRef<number | null>(null);
  const paths = useMemo(() => pathsOf(rows, axis, now), [rows, axis, now]);
  const placeOf = (event: PointerEvent<SVGSVGElement>): number => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const onMove = (event: PointerEvent<SVGSVGElement>) => {
    if (begun.current === null) return;
    const at = placeOf(event);
    const length = Math.abs(at - begun.current);
    if (length > 0.005) onView(viewAround((at + begun.current) / 2, length));
  };
  const onUp = (event: PointerEvent<SVGSVGElement>) => {
    const at = placeOf(event);
    if (begun.current !== null && Math.abs(at - begun.current) <= 0.005)
      onView(viewAround(at, view.to - view.from));
    begun.current = null;
  };
  return (
    <svg
      aria-hidden
      className="h-6 w-full touch-none cursor-crosshair rounded-sm bg-sunken"
      viewBox={`0 0 ${size.width} ${size.height}`}
      preserveAspectRatio="none"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        begun.current = placeOf(event);
      }}
      onPointerMove={onMove}
      onPointerUp={onUp}
    >
      <path d={paths.rest} className="stroke-solid/70" strokeWidth="1.5" />
      <path d={paths.failed} className="stroke-red" strokeWidth="2.5" />
      <rect
        x={view.from * size.width}
        width={(view.to - view.from) * size.width}
        height={size.height}
        className="fill-accent/15 stroke-accent"
        strokeWidth="1"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}

/** The attempts as lines, each at the height of its position in the list. Lines at the same pixels are drawn once. */
function pathsOf(rows: readonly TraceRow[], axis: Axis, now: number) {
  const drawn = rows.filter(({ kind, status }) => kind === "attempt" && status !== "copied");
  const lines = { rest: new Set<string>(), failed: new Set<string>() };
  for (const [index, { status, startedAt, endedAt }] of drawn.entries()) {
    if (startedAt === null) continue;
    const y = Math.round(1 + (index / drawn.length) * (size.height - 2));
    const x = Math.round(axis.at(startedAt) * size.width);
    const end = Math.max(x + 1, Math.round(axis.at(endedAt ?? now) * size.width));
    lines[status === "failed" ? "failed" : "rest"].add(`M${x} ${y}H${end}`);
  }
  return { rest: [...lines.rest].join(""), failed: [...lines.failed].join("") };
}
