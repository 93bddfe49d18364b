import type { NumberedStep, Status, Thread } from "@uncaged/workflow-server/api-types";
import { ArrowDownToLine, Hourglass, LoaderCircle } from "lucide-react";
import { useCallback } from "react";
import { AnswerForm } from "../answer/answer-form.tsx";
import { Button } from "../controls/button.tsx";
import type { ForkPoint } from "../fork/fork.ts";
import type { Card } from "../log/card.ts";
import type { ThreadLog } from "../log/log.ts";
import { useKeys } from "../shell/keys.ts";
import { Empty } from "../states/empty.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { isLive } from "../status/statuses.ts";
import { StepList } from "../steps/step-list.tsx";
import { EndNote } from "./end-note.tsx";
import styles from "./thread.module.css";
import { useFollow } from "./use-follow.ts";

type Props = {
  thread: Thread;
  log: ThreadLog;
  status: Status;
  shownStep: number | undefined;
  /** How often the reader asked to be brought to the question. */
  askedToAnswer: number;
  onForkPoint: (point: ForkPoint) => void;
};

/** The steps of a thread as cards, and how it ended. */
export function StepsView(props: Props) {
  const { thread, log, status, shownStep, askedToAnswer, onForkPoint } = props;
  const { cards, steps } = log;
  const isRunning = status === "running";
  const { isFollowing, toggle } = useFollow(isLive(status), shownStep === undefined);
  useKeys({ f: toggle });
  const onFork = useCallback(
    (number: number) => onForkPoint({ kind: "fork", number }),
    [onForkPoint],
  );
  const onRerun = useCallback(
    (number: number) => onForkPoint({ kind: "rerun", number }),
    [onForkPoint],
  );
  const last = steps.at(-1);
  const question = status === "waiting" && last?.role === "__wait__" ? last : null;
  if (!log.start) return <Skeleton lines={8} what="Reading the thread" />;
  return (
    <div className={styles.steps}>
      <h2 className="unseen">Steps</h2>
      {cards.length > 0 && (
        <StepList
          cards={question ? cards.filter((card) => !isAsking(card, question)) : cards}
          thread={{ isRunning, hasFailed: status === "failed", kept: thread.forkFrom?.steps ?? 0 }}
          shownStep={shownStep}
          shownTimes={askedToAnswer}
          onFork={onFork}
          onRerun={onRerun}
          foot={
            question && {
              number: question.number,
              node: (
                <AnswerForm
                  key={question.number}
                  thread={thread}
                  question={question}
                  asked={askedToAnswer}
                />
              ),
            }
          }
        />
      )}
      {isRunning && log.open.length === 0 && (
        <p className={styles.working} role="status">
          <LoaderCircle aria-hidden /> Working on step {steps.length + 1}…
        </p>
      )}
      {cards.length === 0 && !isRunning && (
        <Empty icon={<Hourglass />} title="There is no step">
          <p>The thread has committed nothing.</p>
        </Empty>
      )}
      <EndNote thread={thread} status={status} onRerun={() => onRerun(steps.length + 1)} />
      {isLive(status) && (
        <Button
          className={styles.follow}
          look={isFollowing ? "solid" : "plain"}
          icon={<ArrowDownToLine />}
          aria-pressed={isFollowing}
          title="Keep the end in view (f)"
          onClick={toggle}
        >
          {isFollowing ? "Following" : "Follow"}
        </Button>
      )}
    </div>
  );
}

/** Whether a card is the step that waits for the answer: its question has a card of its own. */
const isAsking = ({ step, activity }: Card, question: NumberedStep): boolean =>
  step === null && activity?.stepID === question.meta.stepID;
