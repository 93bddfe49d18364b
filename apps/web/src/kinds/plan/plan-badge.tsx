import {
  Ban,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleSlash,
  CircleX,
  Hourglass,
  LoaderCircle,
  type LucideIcon,
  PencilRuler,
} from "lucide-react";
import type { Phase, PlanRun } from "../../lib/plans.ts";
import { Badge } from "../../ui/states.tsx";

type State = Phase | PlanRun["status"] | PlanRun["steps"][number]["status"];

type Look = { word: string; icon: LucideIcon; look: string };

const running = { icon: LoaderCircle, look: "text-blue bg-blue-soft" };
const done = { icon: CircleCheck, look: "text-green bg-green-soft" };

const looks: Record<State, Look> = {
  planning: { word: "planning", icon: PencilRuler, look: "text-gray bg-gray-soft" },
  awaiting_confirmation: {
    ...{ word: "to be confirmed", icon: Hourglass, look: "text-amber bg-amber-soft" },
  },
  active: { word: "active", icon: CircleCheck, look: "text-accent bg-accent-soft" },
  executing: { word: "executing", ...running },
  paused: { word: "paused", icon: CirclePause, look: "text-violet bg-violet-soft" },
  completed: { word: "completed", ...done },
  failed: { word: "failed", icon: CircleX, look: "text-red bg-red-soft" },
  running: { word: "running", ...running },
  pending: { word: "pending", icon: CircleDashed, look: "text-gray bg-gray-soft" },
  succeeded: { word: "succeeded", ...done },
  skipped: { word: "skipped", icon: CircleSlash, look: "text-gray bg-gray-soft" },
};

const cancelled: Look = { word: "cancelled", icon: Ban, look: "text-gray bg-gray-soft" };

type Props = { state: State; isCancelled?: boolean };

export function PlanBadge({ state, isCancelled = false }: Props) {
  const { word, icon, look } = isCancelled ? cancelled : looks[state];
  return (
    <Badge icon={icon} look={look}>
      {word}
    </Badge>
  );
}
