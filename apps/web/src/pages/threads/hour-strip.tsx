import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from "react";
import { cost, count, counted, duration, useNow } from "../../lib/format.ts";
import { type ThreadFilter, timesOf } from "../../lib/thread-filter.ts";
import { summaryQuery } from "../../lib/threads.ts";
import { FailureNotice } from "../../ui/states.tsx";
import { barsOf, type Hour, hourMs, hoursOf, windowOf } from "./hours.ts";

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
  const move = (event: KeyboardEvent) => {
    const last = length - 1;
    const from = index < 0 ? length : index;
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key];
    if (to !== undefined) setAt(Math.min(Math.max(to, 0), last));
    else if (event.key === "Enter" || event.key === " ") choose(index);
    else return;
    event.preventDefault();
  };
  const under = ({ currentTarget, clientX }: PointerEvent | React.MouseEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(Math.floor(((clientX - left) / width) * length), length - 1);
  };
  type Of = "runs" | "failed" | "p50Ms" | "p95Ms" | "cost";
  const bars = (of: Of, look: string, top = of) => (
    <path
      d={barsOf(
        hours.map((one) => one[of] ?? 0),
        Math.max(...hours.map((one) => one[top] ?? 0)),
      )}
      className={look}
    />
  );
  const chart = (drawn: ReactNode) => (
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
      {index >= 0 && <rect x={index} y={0} width={1} height={100} className="fill-accent/20" />}
      {drawn}
    </svg>
  );
  return (
    <section
      aria-label="Figures by hour"
      className="grid grid-cols-3 gap-8 max-md:grid-cols-[1fr] max-md:[&>div:not(:first-child)]:hidden"
    >
      <div>
        <Figures
          facts={[
            ["Runs", count(hour?.runs ?? sum(({ runs }) => runs))],
            ["Failed", count(hour?.failed ?? sum(({ failed }) => failed))],
          ]}
          note={hour ? nameOf(hour) : length > 24 ? `${Math.ceil(length / 24)} days` : "24 hours"}
        />
        <div
          role="slider"
          tabIndex={0}
          aria-label="Hour; Enter lists its threads"
          aria-valuemin={1}
          aria-valuemax={length}
          aria-valuenow={index < 0 ? length : index + 1}
          aria-valuetext={textOf(hour ?? (hours.at(-1) as Hour))}
          className="outline-offset-4"
          onKeyDown={move}
          onBlur={() => setAt(null)}
        >
          {chart(
            <>
              {bars("runs", "fill-line-control")}
              {bars("failed", "fill-red", "runs")}
            </>,
          )}
        </div>
      </div>
      <div>
        <Figures
          facts={[
            ["p50 worked", worked(newest?.p50Ms ?? null)],
            ["p95", worked(newest?.p95Ms ?? null)],
          ]}
          note={hour || !newest ? "" : "newest hour"}
        />
        {chart(
          <>
            {bars("p95Ms", "fill-line-strong")}
            {bars("p50Ms", "fill-line-control", "p95Ms")}
          </>,
        )}
      </div>
      <div>
        <Figures facts={[["Cost", cost(hour?.cost ?? sum((one) => one.cost))]]} />
        {chart(bars("cost", "fill-line-control"))}
      </div>
    </section>
  );
}

type FiguresProps = { facts: readonly (readonly [string, string])[]; note?: string };

const Figures = ({ facts, note = "" }: FiguresProps) => (
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
