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

export const stoppedText = (steps: number): string => `stopped at ${counted(steps, "step")}`;

export const softOf = (status: Status): string => looks[status].soft;

/** `short` is the word of a narrow column. */
type Look = (typeof looks)[Status] & { title?: string; short?: string };

const stopped: Look = { icon: CircleStop, ink: "text-amber", soft: "bg-amber-soft" };
const asleep: Look = { icon: Moon, ink: "text-violet", soft: "bg-violet-soft" };

type Props = {
  status: Status;
  sleepingUntil?: number | null | undefined;
  stoppedAt?: number | null;
};

function shownOf(of: Props): Look & { word: string } {
  const { status, sleepingUntil = null, stoppedAt = null } = of;
  if (status === "waiting" && sleepingUntil !== null) {
    return { ...asleep, word: "sleeping", title: `until ${moment(sleepingUntil)}` };
  }
  if (status !== "completed" || stoppedAt === null) return { ...looks[status], word: status };
  return { ...stopped, word: stoppedText(stoppedAt), short: "stopped" };
}

export function StatusBadge({ large = false, ...of }: Props & { large?: boolean }) {
  const { icon, ink, soft, word, title } = shownOf(of);
  return (
    <Badge icon={icon} look={`${ink} ${soft}`} large={large} title={title}>
      {word}
    </Badge>
  );
}

const isLoud: ReadonlySet<Status> = new Set<Status>(["failed", "waiting", "corrupt"]);

/** A status in a list. On a phone, only its icon is visible. */
export function StatusLine(of: Props) {
  const { icon: Icon, ink, word, short = word, title } = shownOf(of);
  return (
    <span className="flex items-center gap-2" title={title ?? word}>
      <Icon className={ink} />
      <span className={`truncate max-md:sr-only ${isLoud.has(of.status) ? ink : "text-muted"}`}>
        {short}
      </span>
    </span>
  );
}

export function StatusIcon({ status }: { status: Status }) {
  const { icon: Icon, ink } = looks[status];
  return <Icon className={ink} />;
}
