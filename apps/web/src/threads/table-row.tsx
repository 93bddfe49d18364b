import { Link } from "@tanstack/react-router";
import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import type { Ref } from "react";
import { cost, count, tokens } from "../format/amount.ts";
import { roleName } from "../format/role.ts";
import { ago, duration, moment } from "../format/time.ts";
import { StatusBadge } from "../status/status.tsx";
import { isLive } from "../status/statuses.ts";
import styles from "./thread-table.module.css";

type Props = {
  ref: Ref<HTMLDivElement>;
  row: ThreadRow;
  now: number;
  index: number;
  /** Pixels below the top of the list. */
  top: number;
};

/** One thread of the list. */
export function TableRow({ ref, row, now, index, top }: Props) {
  const { threadId, workflow, hash, status, steps, role, spent, createdAt, updatedAt } = row;
  const elapsed = (isLive(status) ? Math.max(now, updatedAt) : updatedAt) - createdAt;
  return (
    <div
      ref={ref}
      className={styles.row}
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      style={{ transform: `translateY(${top}px)` }}
    >
      <div role="cell" className={styles.status}>
        <StatusBadge status={status} />
      </div>
      <div role="cell" className={styles.workflow}>
        <span className={styles.name}>{workflow}</span>
        <span className={styles.hash} title={hash}>
          {hash.slice(0, 6)}
        </span>
      </div>
      <div role="cell" className={styles.id}>
        <Link to="/threads/$id" params={{ id: threadId }}>
          {threadId}
        </Link>
      </div>
      <div role="cell" className={styles.steps}>
        {count(steps)}
        <span className={styles.unit}> {steps === 1 ? "step" : "steps"}</span>
      </div>
      <div role="cell" className={styles.role}>
        {role ? roleName(role) : "–"}
      </div>
      <div role="cell" className={styles.elapsed}>
        {duration(elapsed)}
      </div>
      <div role="cell" className={styles.tokens}>
        {tokens(spent?.tokens ?? 0)}
      </div>
      <div role="cell" className={styles.cost}>
        {cost(spent?.cost ?? 0)}
      </div>
      <div role="cell" className={styles.started} title={moment(createdAt)}>
        {ago(createdAt, now)}
      </div>
    </div>
  );
}
