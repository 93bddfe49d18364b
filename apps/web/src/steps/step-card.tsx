import { GitFork, RotateCcw } from "lucide-react";
import { memo, type ReactNode } from "react";
import { Button } from "../controls/button.tsx";
import { tokens } from "../format/amount.ts";
import { roleName } from "../format/role.ts";
import { duration, moment } from "../format/time.ts";
import { useNow } from "../format/use-now.ts";
import { type Card, durationOf, roleOf } from "../log/card.ts";
import { CardBody } from "./card-body.tsx";
import { type CardState, CardStateIcon } from "./card-state.tsx";
import { totalOf, usageOf } from "./parts.ts";
import styles from "./step-card.module.css";

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
