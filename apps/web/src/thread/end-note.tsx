import type { Status, Thread } from "@uncaged/workflow-server/api-types";
import { RotateCcw } from "lucide-react";
import { Button } from "../controls/button.tsx";
import { StatusIcon } from "../status/status.tsx";
import { isEnded } from "../status/statuses.ts";
import { Prose } from "../value/prose.tsx";
import styles from "./thread.module.css";

const told: Partial<Record<Status, string>> = {
  interrupted: "No worker drives this thread. Resume takes it up after its last committed step.",
  corrupt: "A line of its log is broken. What stands before that line is shown.",
  paused: "It is paused. Resume goes on with the next step.",
};

type Props = {
  thread: Thread;
  status: Status;
  /** Asks for a rerun of what failed. */
  onRerun: () => void;
};

/** How a thread ended, or why it does not go on. */
export function EndNote({ thread, status, onRerun }: Props) {
  const { result, failure } = thread;
  if (!isEnded(status)) {
    return told[status] ? (
      <div className={`${styles.end} ${styles[status]}`}>
        <h3>
          <StatusIcon status={status} /> {status}
        </h3>
        <p>{told[status]}</p>
      </div>
    ) : null;
  }
  if (!result) return null;
  return (
    <div className={`${styles.end} ${styles[status]}`}>
      <h3>
        <StatusIcon status={status} /> {status}
        <span className={styles.code}>return code {result.returnCode}</span>
      </h3>
      {result.summary && <Prose text={result.summary} />}
      {failure && (
        <p className={styles.failure}>
          {failure.name}, at step {failure.step}. Retry keeps the committed steps and does this one
          again; a rerun does so with other values.
        </p>
      )}
      {(status === "failed" || status === "killed") && (
        <div>
          <Button small icon={<RotateCcw />} onClick={onRerun}>
            Rerun from here…
          </Button>
        </div>
      )}
    </div>
  );
}
