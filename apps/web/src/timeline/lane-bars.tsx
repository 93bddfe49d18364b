import { type KeyboardEvent, useRef, useState } from "react";
import { duration } from "../format/time.ts";
import type { Bar } from "./bars.ts";
import styles from "./timeline.module.css";

type Props = {
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
export function LaneBars({ bars, name, isWaiting, from, span, onStep }: Props) {
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
