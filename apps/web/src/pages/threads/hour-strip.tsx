import { useQuery } from "@tanstack/react-query";
import { type MouseEvent, type PointerEvent, useState } from "react";
import { cost, count, counted, duration, useNow } from "../../lib/format.ts";
import { type ThreadFilter, timesOf } from "../../lib/thread-filter.ts";
import { summaryQuery } from "../../lib/threads.ts";
import { FailureNotice } from "../../ui/states.tsx";
import type { ThreadSummary } from "@uncaged/workflow-server/api-types";

type Props = { isOpen: boolean; filter: ThreadFilter; onChange: (change: ThreadFilter) => void };

const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

const nameOf = ({ at }: Hour): string =>
  `${day.format(at)}, ${clock.format(at)} to ${clock.format(at + hourMs)}`;

const isoOf = (at: number): string => `${new Date(at).toISOString().slice(0, 16)}Z`;

const worked = (ms: number | null): string => (ms === null ? "–" : duration(ms));

const textOf = (hour: Hour): string =>
  `${nameOf(hour)}: ${counted(hour.runs, "run")}, ${count(hour.failed)} failed, p50 ${worked(hour.p50Ms)}, p95 ${worked(hour.p95Ms)}, cost ${cost(hour.cost)}`;

/** The figures of the listed threads by the hour of their start. A press on an hour lists its threads. */
export function HourStrip({ filter, onChange }: Props) {
  const now = useNow(60_000);
  const frame = windowOf(filter, now);
  const { start, count: length } = frame;
  const { data, error, refetch } = useQuery(summaryQuery(filter, start, start + length * hourMs));
  const [at, setAt] = useState<number | null>(null);
  if (error && !data) return <FailureNotice error={error} onRetry={() => void refetch()} />;
  if (!data) return null;
  const hours = hoursOf(data, frame);
  const { since = null, until = null } = timesOf(filter, now);
  const chosen = until === null ? -1 : hours.findIndex((hour) => hour.at === since);
  const index = at ?? chosen;
  const hour = hours[index];
  const sum = (of: (hour: Hour) => number) => hours.reduce((total, one) => total + of(one), 0);
  const newest = hour ?? hours.findLast(({ p50Ms }) => p50Ms !== null);
  const choose = (picked: number) => {
    const one = hours[picked];
    if (!one) return;
    onChange(
      picked === chosen
        ? { since: undefined, until: undefined }
        : { since: isoOf(one.at), until: isoOf(one.at + hourMs) },
    );
  };
  const under = ({ currentTarget, clientX }: PointerEvent | MouseEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(Math.floor(((clientX - left) / width) * length), length - 1);
  };
  const valuesOf = (of: Amount) => hours.map((one) => one[of] ?? 0);
  const charts: readonly Chart[] = [
    {
      facts: [
        ["Runs", count(hour?.runs ?? sum(({ runs }) => runs))],
        ["Failed", count(hour?.failed ?? sum(({ failed }) => failed))],
      ],
      note: hour ? nameOf(hour) : length > 24 ? `${Math.ceil(length / 24)} days` : "24 hours",
      top: "runs",
      bars: { runs: "fill-line-control", failed: "fill-red" },
    },
    {
      facts: [
        ["p50 worked", worked(newest?.p50Ms ?? null)],
        ["p95", worked(newest?.p95Ms ?? null)],
      ],
      note: hour || !newest ? "" : "newest hour",
      top: "p95Ms",
      bars: { p95Ms: "fill-line-strong", p50Ms: "fill-line-control" },
    },
    {
      facts: [["Cost", cost(hour?.cost ?? sum((one) => one.cost))]],
      note: "",
      top: "cost",
      bars: { cost: "fill-line-control" },
    },
  ];
  return (
    <section
      aria-label="Figures by hour"
      className="relative grid grid-cols-3 gap-8 rounded-sm outline-offset-4 outline-accent has-focus-visible:outline-2 max-md:grid-cols-[1fr] max-md:[&>div:not(:first-of-type)]:hidden"
    >
      <input
        type="range"
        className="sr-only"
        aria-label="Hour; Enter lists its threads"
        min={1}
        max={length}
        value={index < 0 ? length : index + 1}
        aria-valuetext={textOf(hour ?? (hours.at(-1) as Hour))}
        onChange={({ target }) => setAt(Number(target.value) - 1)}
        onKeyDown={({ key }) => key === "Enter" && choose(index < 0 ? length - 1 : index)}
        onBlur={() => setAt(null)}
      />
      {charts.map(({ facts, note, top, bars }) => (
        <div key={top}>
          <Figures facts={facts} note={note} />
          <svg
            viewBox={`0 0 ${length} 100`}
            preserveAspectRatio="none"
            className="h-8 w-full cursor-pointer"
            aria-hidden
            onPointerMove={(event) => setAt(under(event))}
            onPointerLeave={() => setAt(null)}
            onClick={(event) => choose(under(event))}
          >
            <path d={`M0 99h${length}v1H0z`} className="fill-line" />
            {index >= 0 && <rect x={index} width={1} height={100} className="fill-accent/20" />}
            {Object.entries(bars).map(([of, look]) => (
              <path
                key={of}
                d={barsOf(valuesOf(of as Amount), Math.max(...valuesOf(top)))}
                className={look}
              />
            ))}
          </svg>
        </div>
      ))}
    </section>
  );
}

type Amount = "runs" | "failed" | "p50Ms" | "p95Ms" | "cost";

type Chart = {
  facts: readonly (readonly [label: string, value: string])[];
  note: string;
  /** The amount whose maximum is the height of the chart. */
  top: Amount;
  /** The class of each amount's bars. */
  bars: Partial<Record<Amount, string>>;
};

const Figures = ({ facts, note }: Pick<Chart, "facts" | "note">) => (
  <dl className="mb-1 flex items-baseline gap-5 whitespace-nowrap">
    {facts.map(([label, value]) => (
      <div key={label} className="flex items-baseline gap-2">
        <dt className="text-small text-muted">{label}</dt>
        <dd className="text-title font-semibold">{value}</dd>
      </div>
    ))}
    {note && (
      <div className="ml-auto truncate text-small text-faint">
        <dt className="sr-only">Time</dt>
        <dd>{note}</dd>
      </div>
    )}
  </dl>
);

export const hourMs = 3_600_000;
const least = 24;
const most = 7 * 24;

const floor = (at: number): number => Math.floor(at / hourMs) * hourMs;

/** The hours to show for the times of a filter: at least a day and at most a week. */
export function windowOf(filter: ThreadFilter, now: number): { start: number; count: number } {
  const { since = now, until = now } = timesOf(filter, now);
  const last = floor(now);
  const isOld = until < now - least * hourMs;
  const end = isOld ? Math.min(last, floor(until) + (least / 2) * hourMs) : last;
  const wanted = (end - floor(since)) / hourMs + 1;
  const length = Math.min(Math.max(wanted, least), most);
  return { start: end - (length - 1) * hourMs, count: length };
}

/** The figures of an hour. */
type Hour = ThreadSummary["hours"][number];

const none = { runs: 0, failed: 0, p50Ms: null, p95Ms: null, cost: 0 };

/** All hours of a window; the summary omits hours without runs. */
export function hoursOf(
  { hours }: ThreadSummary,
  { start, count: length }: ReturnType<typeof windowOf>,
) {
  const known = new Map(hours.map((hour) => [hour.at, hour]));
  return Array.from({ length }, (_, index): Hour => {
    const at = start + index * hourMs;
    return known.get(at) ?? { at, ...none };
  });
}

/** The path of bars in a box of one unit per hour and 100 units of height. */
export function barsOf(values: readonly number[], top: number): string {
  return values
    .map((value, index) => {
      if (value === 0) return "";
      const height = Math.max(4, (100 * value) / (top || 1));
      return `M${index + 0.15} 100V${(100 - height).toFixed(1)}h.7V100z`;
    })
    .join("");
}
