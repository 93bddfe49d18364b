import {
  CircleCheck,
  CircleDashed,
  CircleX,
  GitBranch,
  LoaderCircle,
  type LucideIcon,
  MessageCircleQuestion,
  MessageSquareReply,
  RotateCcw,
} from "lucide-react";
import type { Card } from "../log/card.ts";
import styles from "./step-card.module.css";

/** How a card stands. `kept` was brought along by a fork; `lost` will not be committed any more. */
export type CardState =
  | "done"
  | "running"
  | "failed"
  | "lost"
  | "question"
  | "answer"
  | "rerun"
  | "kept";

const icons: Record<CardState, { icon: LucideIcon; word: string }> = {
  done: { icon: CircleCheck, word: "done" },
  running: { icon: LoaderCircle, word: "at work" },
  failed: { icon: CircleX, word: "failed" },
  lost: { icon: CircleDashed, word: "not finished" },
  question: { icon: MessageCircleQuestion, word: "question" },
  answer: { icon: MessageSquareReply, word: "answer" },
  rerun: { icon: RotateCcw, word: "run again from here" },
  kept: { icon: GitBranch, word: "brought along by the fork" },
};

/** The icon of a card's state, and its word for who does not see it. */
export function CardStateIcon({ state }: { state: CardState }) {
  const { icon: Icon, word } = icons[state];
  return (
    <span className={styles.state} title={word}>
      <Icon aria-hidden />
      <span className="unseen">{word}</span>
    </span>
  );
}

/** How the thread of a card stands, and how many steps a fork brought along. */
export type CardThread = { isRunning: boolean; hasFailed: boolean; kept: number };

/** How a card stands in its thread. */
export function stateOf({ step, activity }: Card, thread: CardThread): CardState {
  const { isRunning, hasFailed, kept } = thread;
  if (step?.role === "__wait__") return "question";
  if (step?.role === "__input__") return step.meta.for === "rerun" ? "rerun" : "answer";
  if (step) return step.number <= kept ? "kept" : "done";
  if (activity?.error || hasFailed) return "failed";
  return isRunning ? "running" : "lost";
}
