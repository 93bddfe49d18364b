import type { Attempt, Path } from "@uncaged/workflow";
import {
  CircleCheck,
  CircleSlash,
  CircleX,
  GitBranch,
  GitFork,
  LoaderCircle,
  type LucideIcon,
  MessageCircleQuestion,
  MessageSquareReply,
  RotateCcw,
  SkipForward,
  Unplug,
} from "lucide-react";
import { memo, type ReactNode } from "react";
import { duration, moment, roleName, tokens, useNow } from "../../lib/format.ts";
import { type Card, durationOf, nameOf } from "../../lib/thread-log.ts";
import { Button } from "../../ui/button.tsx";
import { CardBody } from "./card-body.tsx";
import { spendingOf } from "./parts.ts";
import styles from "./trace.module.css";

/** What the reader asked for at a card: the step's number. */
export type CardAction = (number: number) => void;

type Props = {
  card: Card;
  /** That of the attempt: another one shows the card again. */
  version: number;
  state: CardState;
  onFork: CardAction;
  onRerun: CardAction;
  /** The number that the step of a card would have at which the thread failed; null for all others. */
  failedNumber: number | null;
  /** At the card's foot: the form that answers a question. */
  foot?: ReactNode;
};

export const StepCard = memo(function StepCard(props: Props) {
  const { card, state, onFork, onRerun, failedNumber, foot } = props;
  const { step, attempt } = card;
  const role = step?.role ?? nameOf(attempt) ?? (failedNumber ? `Step ${failedNumber}` : "unnamed");
  const name = roleName(role, step?.meta);
  const title = attempt.title !== role ? attempt.title : null;
  const type = attempt.input?.type;
  const spending = spendingOf(card);
  const number = step?.number;
  return (
    <article
      className={`${styles.card} ${styles[state]} ${foot ? styles.asking : ""}`}
      aria-label={`${number ? `Step ${number}` : states[state].label}: ${name}`}
      tabIndex={-1}
    >
      <header className={styles.header}>
        <CardStateIcon state={state} />
        <h3 className={styles.title}>
          {number !== undefined && <span className={styles.number}>{number}</span>}
          {name}
          {title && <span className={styles.subtitle}>{title}</span>}
        </h3>
        {typeof type === "string" && type !== "Role" && <span className={styles.tag}>{type}</span>}
        {iterationsIn(attempt.path).map((iteration) => (
          <span key={iteration} className={styles.tag}>
            {iteration}
          </span>
        ))}
        {state === "copied" && <span className={styles.tag}>copied</span>}
        <span className={styles.facts}>
          {spending && spending.total > 0 && <span>{tokens(spending.total)} tokens</span>}
          <CardTime attempt={attempt} isRunning={state === "running"} />
        </span>
        {number !== undefined && (
          <span className={styles.actions}>
            <Button
              look="quiet"
              small
              icon={<GitFork />}
              aria-label={`Fork from here, after step ${number}`}
              title="Fork from here: keep this step, go on from it"
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
      <CardBody card={card} isRunning={state === "running"} />
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

/** The iterations that an attempt is in, outermost first: `Loop_A #2`. */
const iterationsIn = (path: Path): string[] =>
  path.flatMap((part) =>
    "iteration" in part && part.iteration !== undefined ? `${part.in} #${part.iteration + 1}` : [],
  );

function CardTime({ attempt, isRunning }: { attempt: Attempt; isRunning: boolean }) {
  const now = useNow(100, isRunning);
  const { startedAt, endedAt } = attempt;
  const took = durationOf(attempt, isRunning ? now : null);
  if (took === null || startedAt === null || (took === 0 && endedAt !== null)) return null;
  return <span title={moment(endedAt ?? startedAt)}>{duration(took)}</span>;
}

/** `copied` was committed by the thread that this one was forked from. */
type CardState =
  | "done"
  | "running"
  | "failed"
  | "skipped"
  | "cancelled"
  | "lost"
  | "question"
  | "answer"
  | "rerun"
  | "copied";

/** `label` names a card that has no step. */
const states: Record<CardState, { icon: LucideIcon; word: string; label: string }> = {
  done: { icon: CircleCheck, word: "done", label: "Done" },
  running: { icon: LoaderCircle, word: "running", label: "Running" },
  failed: { icon: CircleX, word: "failed", label: "Failed" },
  skipped: { icon: SkipForward, word: "skipped", label: "Skipped" },
  cancelled: { icon: CircleSlash, word: "cancelled", label: "Cancelled" },
  lost: { icon: Unplug, word: "lost with its worker", label: "Lost" },
  question: { icon: MessageCircleQuestion, word: "question", label: "Question" },
  answer: { icon: MessageSquareReply, word: "answer", label: "Answer" },
  rerun: { icon: RotateCcw, word: "run again from here", label: "Rerun" },
  copied: { icon: GitBranch, word: "copied by the fork", label: "Copied" },
};

function CardStateIcon({ state }: { state: CardState }) {
  const { icon: Icon, word } = states[state];
  return (
    <span className={styles.state} title={word}>
      <Icon aria-hidden />
      <span className="unseen">{word}</span>
    </span>
  );
}

/** The state of a card. What goes on in a thread that no worker drives is lost. */
export function stateOf({ attempt, step }: Card, isDriven: boolean): CardState {
  if (step?.role === "__wait__") return "question";
  if (step?.role === "__input__") return step.meta.for === "rerun" ? "rerun" : "answer";
  if (attempt.saved) return "copied";
  if (attempt.status === "running") return isDriven ? "running" : "lost";
  return attempt.status === "committed" ? "done" : attempt.status;
}
