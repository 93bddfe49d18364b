import type { Status } from "@uncaged/workflow-server/api-types";
import {
  Ban,
  CircleArrowRight,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleStop,
  CircleX,
  FileWarning,
  LoaderCircle,
  type LucideIcon,
  MessageCircleQuestion,
  Moon,
} from "lucide-react";
import { counted, moment } from "../../lib/format.ts";
import { Badge } from "../../ui/states.tsx";

const looks: Record<Status, { icon: LucideIcon; ink: string; soft: string }> = {
  running: { icon: LoaderCircle, ink: "text-blue", soft: "bg-blue-soft" },
  waiting: { icon: MessageCircleQuestion, ink: "text-amber", soft: "bg-amber-soft" },
  paused: { icon: CirclePause, ink: "text-violet", soft: "bg-violet-soft" },
  completed: { icon: CircleCheck, ink: "text-green", soft: "bg-green-soft" },
  failed: { icon: CircleX, ink: "text-red", soft: "bg-red-soft" },
  killed: { icon: Ban, ink: "text-gray", soft: "bg-gray-soft" },
  interrupted: { icon: CircleDashed, ink: "text-gray", soft: "bg-gray-soft" },
  moved: { icon: CircleArrowRight, ink: "text-gray", soft: "bg-gray-soft" },
  corrupt: { icon: FileWarning, ink: "text-red", soft: "bg-red-soft" },
};

/** The text of a thread that ran out of rounds. */
export const stoppedText = (steps: number): string => `stopped at ${counted(steps, "step")}`;

/** The background colour of a status. */
export const softOf = (status: Status): string => looks[status].soft;

const stopped = { icon: CircleStop, ink: "text-amber", soft: "bg-amber-soft" };
const asleep = { icon: Moon, ink: "text-violet", soft: "bg-violet-soft" };

type BadgeProps = {
  status: Status;
  /** End of the thread's sleep, in milliseconds since the epoch. */
  sleepingUntil?: number | null | undefined;
  /** Number of steps at which the limit of rounds stopped the thread. */
  stoppedAt?: number | null;
  large?: boolean;
};

export function StatusBadge(props: BadgeProps) {
  const { status, sleepingUntil = null, stoppedAt = null, large = false } = props;
  const isAsleep = status === "waiting" && sleepingUntil !== null;
  const isStopped = status === "completed" && stoppedAt !== null;
  const { icon, ink, soft } = isAsleep ? asleep : isStopped ? stopped : looks[status];
  return (
    <Badge
      icon={icon}
      look={`${ink} ${soft}`}
      large={large}
      title={isAsleep ? `until ${moment(sleepingUntil)}` : undefined}
    >
      {isAsleep ? "sleeping" : isStopped ? stoppedText(stoppedAt) : status}
    </Badge>
  );
}

export function StatusIcon({ status }: { status: Status }) {
  const { icon: Icon, ink } = looks[status];
  return <Icon className={ink} />;
}
