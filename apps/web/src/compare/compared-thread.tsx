import { Link } from "@tanstack/react-router";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { counted } from "../format/amount.ts";
import { StatusBadge } from "../status/status.tsx";
import styles from "./compare.module.css";

type Props = { thread: Thread; side: "left" | "right" };

/** One of two threads: which it is, and how it stands. */
export function ComparedThread({ thread, side }: Props) {
  const { threadId, workflow, hash, status, stepCount, forkFrom } = thread;
  return (
    <section className={`${styles.head} ${styles[side]}`} aria-label={`The ${side} thread`}>
      <div className={styles.headLine}>
        <StatusBadge status={status} />
        <Link to="/threads/$id" params={{ id: threadId }} className="mono">
          {threadId}
        </Link>
      </div>
      <p className={styles.facts}>
        <span>{workflow}</span>
        <span className="mono">{hash.slice(0, 6)}</span>
        <span>{counted(stepCount, "step")}</span>
        {forkFrom && <span>forked after step {forkFrom.steps}</span>}
      </p>
    </section>
  );
}
