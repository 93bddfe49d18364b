import { ChartGantt } from "lucide-react";
import { counted } from "../format/amount.ts";
import { roleName } from "../format/role.ts";
import { duration } from "../format/time.ts";
import { useNow } from "../format/use-now.ts";
import type { ThreadLog } from "../log/log.ts";
import { Empty } from "../states/empty.tsx";
import { type Lane, ticksOf, timelineOf } from "./bars.ts";
import { LaneBars } from "./lane-bars.tsx";
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
