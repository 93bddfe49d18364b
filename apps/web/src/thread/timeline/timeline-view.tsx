import type { Status } from "@uncaged/workflow-server/api-types";
import { ChartGantt } from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import { counted, duration, roleName, sleepRole, useNow } from "../../lib/format.ts";
import type { ThreadLog } from "../../lib/thread-log.ts";
import { isLive } from "../../lib/threads.ts";
import { Empty } from "../../ui/states.tsx";
import { type Bar, type Lane, ticksOf, timelineOf } from "./bars.ts";

type Props = { log: ThreadLog; status: Status; onStep: (number: number) => void };

const mostTicks = 6;

const columns = "grid grid-cols-[minmax(6rem,11rem)_minmax(0,1fr)] gap-3 pr-6 pl-4";

export function TimelineView({ log, status, onStep }: Props) {
  const now = useNow(250, isLive(status) || status === "waiting");
  const timeline = timelineOf(log.cards, status, now);
  if (!timeline) {
    return (
      <Empty icon={<ChartGantt />} title="No attempts yet">
        <p>Each attempt of a role gets a bar here, from its start to its end.</p>
      </Empty>
    );
  }
  const { from, to, lanes } = timeline;
  const span = Math.max(to - from, 1);
  return (
    <div className="panel mt-3 divide-y overflow-hidden">
      <div className={`${columns} h-8 bg-sunken text-small text-faint`} aria-hidden>
        <span />
        <div className="relative">
          {ticksOf(span, mostTicks).map((tick) => (
            <span
              key={tick}
              className="absolute top-2 border-l border-line-strong pl-1 whitespace-nowrap"
              style={{ left: `${(tick / span) * 100}%` }}
            >
              {tick === 0 ? "0" : duration(tick)}
            </span>
          ))}
        </div>
      </div>
      {lanes.map((lane) => (
        <LaneRow key={lane.role} lane={lane} from={from} span={span} onStep={onStep} />
      ))}
    </div>
  );
}

type LaneProps = {
  lane: Lane;
  from: number;
  span: number;
  onStep: (number: number) => void;
};

/** Names of bars that do not belong to a role. */
const nouns: Readonly<Record<string, string | undefined>> = Object.assign(Object.create(null), {
  __wait__: "question",
  [sleepRole]: "sleep",
});

const rowRem = 1.35;

const moves: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

/** A lane. Its bars are one Tab stop: arrow keys move between them, Enter shows the step. */
function LaneRow({ lane: { role, bars, rows, totalMs }, from, span, onStep }: LaneProps) {
  const [current, setCurrent] = useState(0);
  const drawing = useRef<SVGSVGElement>(null);
  const what = nouns[role] ?? "attempt";
  const sum = `${counted(bars.length, what)}, ${duration(totalMs)}`;
  const stop = Math.min(current, bars.length - 1);
  const choose = ({ number }: Bar): void => {
    if (number !== null) onStep(number);
  };
  const goTo = (index: number): void => {
    const bar = drawing.current?.children[index];
    if (!(bar instanceof SVGElement)) return;
    setCurrent(index);
    bar.focus();
  };
  const onKey = (event: KeyboardEvent, bar: Bar, index: number): void => {
    const move = moves[event.key];
    if (move !== undefined) goTo(index + move);
    else if (event.key === "Enter" || event.key === " ") choose(bar);
    else return;
    event.preventDefault();
  };
  const height = { height: `${rows * rowRem + 0.6}rem` };
  return (
    <div className={columns}>
      <div className="flex min-h-12 flex-col justify-center font-semibold wrap-anywhere">
        <span className="line-clamp-3">{roleName(role)}</span>
        <span className="text-small font-normal text-faint">{sum}</span>
      </div>
      <svg
        ref={drawing}
        className="w-full self-center overflow-visible"
        style={height}
        role="group"
        aria-label={`${roleName(role)}: ${sum}`}
      >
        {bars.map((bar, index) => (
          <rect
            key={bar.key}
            className={`cursor-pointer hover:opacity-75 ${looks[bar.state].fill}`}
            x={`${((bar.from - from) / span) * 100}%`}
            width={`${Math.max(((bar.to - bar.from) / span) * 100, 0.15)}%`}
            y={`${bar.row * rowRem + 0.4}rem`}
            height={`${rowRem - 0.25}rem`}
            rx={3}
            role="button"
            aria-label={titleOf(bar)}
            tabIndex={index === stop ? 0 : -1}
            onFocus={() => setCurrent(index)}
            onClick={() => choose(bar)}
            onKeyDown={(event) => onKey(event, bar, index)}
          >
            <title>{titleOf(bar)}</title>
          </rect>
        ))}
      </svg>
    </div>
  );
}

const looks = {
  committed: { fill: "fill-solid", word: "Committed" },
  waiting: { fill: "fill-amber", word: "Waiting" },
  running: { fill: "fill-blue", word: "Running" },
  other: { fill: "fill-line-control", word: "Not committed" },
} as const;

const titleOf = ({ number, state, from, to }: Bar): string =>
  `${number === null ? looks[state].word : `Step ${number}`}: ${duration(to - from)}`;
