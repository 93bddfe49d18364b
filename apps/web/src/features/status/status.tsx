import type { Status } from "@uncaged/workflow-server/api-types";
import {
  Ban,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleX,
  FileWarning,
  LoaderCircle,
  type LucideIcon,
  MessageCircleQuestion,
} from "lucide-react";

const looks: Record<Status, { icon: LucideIcon; ink: string; soft: string }> = {
  running: { icon: LoaderCircle, ink: "text-blue", soft: "bg-blue-soft" },
  waiting: { icon: MessageCircleQuestion, ink: "text-amber", soft: "bg-amber-soft" },
  paused: { icon: CirclePause, ink: "text-violet", soft: "bg-violet-soft" },
  completed: { icon: CircleCheck, ink: "text-green", soft: "bg-green-soft" },
  failed: { icon: CircleX, ink: "text-red", soft: "bg-red-soft" },
  killed: { icon: Ban, ink: "text-gray", soft: "bg-gray-soft" },
  interrupted: { icon: CircleDashed, ink: "text-gray", soft: "bg-gray-soft" },
  corrupt: { icon: FileWarning, ink: "text-red", soft: "bg-red-soft" },
};

/** The background of what is about a status. */
export const softOf = (status: Status): string => looks[status].soft;

export function StatusBadge({ status, large = false }: { status: Status; large?: boolean }) {
  const { icon: Icon, ink, soft } = looks[status];
  const size = large ? "py-2 pr-6.5 pl-5 text-body" : "py-1 pr-5 pl-4 text-small";
  return (
    <span
      className={`inline-flex items-center gap-3.5 rounded-full font-medium whitespace-nowrap ${size} ${ink} ${soft}`}
    >
      <Icon />
      {status}
    </span>
  );
}

export function StatusIcon({ status }: { status: Status }) {
  const { icon: Icon, ink } = looks[status];
  return <Icon className={ink} />;
}
