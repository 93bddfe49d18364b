import {
  CircleCheck,
  CircleDashed,
  CircleX,
  GitBranch,
  GitFork,
  LoaderCircle,
  type LucideIcon,
  MessageCircleQuestion,
  MessageSquareReply,
  RotateCcw,
} from "lucide-react";
import { memo, type ReactNode } from "react";
import { duration, moment, roleName, tokens, useNow } from "../../lib/format.ts";
import { type Card, durationOf, roleOf } from "../../lib/thread-log.ts";
import { Button } from "../../ui/button.tsx";
import { CardBody } from "./card-body.tsx";
import { totalOf, usageOf } from "./parts.ts";
import styles from "./trace.module.css";

/** What the reader asked for at a card: the step's number. */
export type CardAction = (number: number) => void;

type Props = {
  card: Card;
  version: number;
  state: CardState;
  onFork: CardAction;
  onRerun: CardAction;
  /** The number that a step has got which its thread failed at; null for all others. */
  failedNumber: number | null;
  /** Stands at the card's foot: the form that answers a question. */
  foot?: ReactNode;
};

/** One step, as a card. */
export const StepCard = memo(function StepCard(props: Props) {
  const { card, state, onFork, onRerun, failedNumber, foot } = props;
  const { step, activity } = card;
  const role = roleOf(card);
  const name = roleName(role, step?.meta);
  const title = activity?.title && activity.title !== role ? activity.title : null;
  const usage = usageOf(card);
  const number = step?.number;
  return (
    <article
      className={`${styles.card} ${styles[state]} ${foot ? styles.asking : ""}`}
      aria-label={`${number ? `Step ${number}` : "Step at work"}: ${name}`}
      tabIndex={-1}
    >
      <header className={styles.header}>
        <CardStateIcon state={state} />
        <h3 className={styles.title}>
          {number !== undefined && <span className={styles.number}>{number}</span>}
          {name}
          {title && <span className={styles.subtitle}>{title}</span>}
        </h3>
        {activity?.type && activity.type !== "Role" && (
          <span className={styles.tag}>{activity.type}</span>
        )}
        {state === "kept" && <span className={styles.tag}>brought along</span>}
        <span className={styles.facts}>
          {usage && totalOf(usage) > 0 && <span>{tokens(totalOf(usage))} tokens</span>}
          <CardTime card={card} isRunning={state === "running"} />
        </span>
        {number !== undefined && (
          <span className={styles.actions}>
            <Button
              look="quiet"
              small
              icon={<GitFork />}
              aria-label={`Fork from here, after step ${number}`}
              title="Fork from here: keep this step, go on anew"
              onClick={() => onFork(number)}
            />
            <Button
              look="quiet"
              small
              icon={<RotateCcw />}
              aria-label={`Rerun from here, step ${number}`}
              title="Rerun from here: do this step again"
              onClick={() => onRerun(number)}
            />
          </span>
        )}
      </header>
      <CardBody card={card} state={state} />
      {failedNumber !== null && (
        <div className={styles.foot}>
          <Button small icon={<RotateCcw />} onClick={() => onRerun(failedNumber)}>
            Rerun from here…
          </Button>
        </div>
      )}
      {foot}
    </article>
  );
});

function CardTime({ card, isRunning }: { card: Card; isRunning: boolean }) {
  const now = useNow(100, isRunning);
  const { step, beganAt } = card;
  const took = durationOf(card);
  if (isRunning && beganAt !== null) return <span>{duration(now - beganAt)}</span>;
  if (!step || took === null || took === 0) return null;
  return <span title={moment(step.timestamp)}>{duration(took)}</span>;
}

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
function CardStateIcon({ state }: { state: CardState }) {
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
