import {
  CircleCheck,
  CircleSlash,
  CircleX,
  GitBranch,
  LoaderCircle,
  type LucideIcon,
  MessageCircleQuestion,
  SkipForward,
  Unplug,
} from "lucide-react";
import type { TraceRow } from "../trace/rows.ts";

/** Icons, words and colours of the statuses of rows. */
const states: Record<TraceRow["status"], { icon: LucideIcon; word: string; ink: string }> = {
  running: { icon: LoaderCircle, word: "running", ink: "text-blue" },
  done: { icon: CircleCheck, word: "done", ink: "text-green" },
  failed: { icon: CircleX, word: "failed", ink: "text-red" },
  skipped: { icon: SkipForward, word: "skipped", ink: "text-faint" },
  cancelled: { icon: CircleSlash, word: "cancelled", ink: "text-faint" },
  lost: { icon: Unplug, word: "lost with its worker", ink: "text-faint" },
  waiting: { icon: MessageCircleQuestion, word: "waiting", ink: "text-amber" },
  copied: { icon: GitBranch, word: "copied by the fork", ink: "text-faint" },
  parked: { icon: MessageCircleQuestion, word: "asked", ink: "text-faint" },
};

/** The status of a row, as an icon with a name. */
export function RowState({ status }: { status: TraceRow["status"] }) {
  const { icon: Icon, word, ink } = states[status];
  return (
    <span className={`flex ${ink}`} title={word}>
      <Icon />
      <span className="sr-only">{word}</span>
    </span>
  );
}
