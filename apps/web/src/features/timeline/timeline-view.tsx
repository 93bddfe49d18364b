import { ChartGantt } from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import { counted, duration, roleName, useNow } from "../../lib/format.ts";
import type { ThreadLog } from "../../lib/thread-log.ts";
import { Empty } from "../../ui/states.tsx";
import { type Bar, type Lane, ticksOf, timelineOf } from "./bars.ts";
import styles from "./timeline.module.css";

type Props = { log: ThreadLog; isRunning: boolean; onStep: (number: number) => void };

const mostTicks = 6;

/** When each step ran: a lane a role, a bar a step. */
export function TimelineView({ log, isRunning, onStep }: Props) {
  const now = useNow(250, isRunning && log.open.length > 0);
  const timeline = timelineOf(log.cards, isRunning ? now : null, log.start?.createdAt ?? 0);
  if (!timeline) {
    return (
      <Empty icon={<ChartGantt />} title="No time was spent yet">
        <p>A bar stands here for each step, from its beginning to its commit.</p>
      </Empty>
    );
  }
  const { from, to, lanes } = timeline;
  const span = Math.max(to - from, 1);
  return (
    <div className={styles.timeline}>
      <div className={styles.axis} aria-hidden>
        <span />
        <div>
          {ticksOf(span, mostTicks).map((tick) => (
            <span key={tick} style={{ left: `${(tick / span) * 100}%` }}>
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

function LaneRow({ lane: { role, bars, totalMs }, from, span, onStep }: LaneProps) {
  const told = `${counted(bars.length, "step")}, ${duration(totalMs)}`;
  return (
    <div className={styles.lane}>
      <div className={styles.role}>
        <span>{roleName(role)}</span>
        <span className={styles.told}>{told}</span>
      </div>
      <LaneBars
        bars={bars}
        name={`${roleName(role)}: ${told}`}
        isWaiting={role === "__wait__"}
        from={from}
        span={span}
        onStep={onStep}
      />
    </div>
  );
}

type LaneBarsProps = {
  bars: readonly Bar[];
  /** What the lane is called, for who does not see it. */
  name: string;
  isWaiting: boolean;
  /** Milliseconds since the epoch, and how many the lane shows. */
  from: number;
  span: number;
  onStep: (number: number) => void;
};

const moves: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

/**
 * The bars of a lane: one stop of Tab, in which the arrows go from bar to bar and Enter opens the step.
 */
function LaneBars({ bars, name, isWaiting, from, span, onStep }: LaneBarsProps) {
  const [current, setCurrent] = useState(0);
  const lane = useRef<SVGSVGElement>(null);
  const stop = Math.min(current, bars.length - 1);
  const choose = ({ number }: Bar): void => {
    if (number !== null) onStep(number);
  };
  const goTo = (index: number): void => {
    const bar = lane.current?.children[index];
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
  return (
    <svg ref={lane} className={styles.bars} role="group" aria-label={name}>
      {bars.map((bar, index) => (
        <rect
          key={index}
          className={bar.isLive ? styles.live : isWaiting ? styles.waiting : styles.bar}
          x={`${((bar.from - from) / span) * 100}%`}
          width={`${Math.max(((bar.to - bar.from) / span) * 100, 0.15)}%`}
          y="20%"
          height="60%"
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
  );
}

const titleOf = ({ number, from, to }: Bar): string =>
  `${number === null ? "At work" : `Step ${number}`}: ${duration(to - from)}`;
