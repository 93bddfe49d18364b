import { sleepsUntil } from "@uncaged/workflow/records";
import type { Status, Thread } from "@uncaged/workflow-server/api-types";
import { ArrowDownToLine, Hourglass, LoaderCircle, Moon, RotateCcw } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { AnswerForm } from "../../thread/question/answer-form.tsx";
import { softOf, StatusIcon, stoppedText } from "../../thread/status/status.tsx";
import { LogLines } from "../../thread/trace/card-body.tsx";
import { StepList } from "../../thread/trace/step-list.tsx";
import { Position } from "../../thread/detail/thrown.tsx";
import { moment, until, useNow } from "../../lib/format.ts";
import { failedAmong, type ThreadLog } from "../../lib/thread-log.ts";
import { type ForkPoint, isEnded, isLive } from "../../lib/threads.ts";
import { Button } from "../../ui/button.tsx";
import { useKeys } from "../../ui/page.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Empty, Skeleton } from "../../ui/states.tsx";
import { Value } from "../../ui/value.tsx";

type Props = {
  thread: Thread;
  log: ThreadLog;
  status: Status;
  shownStep: number | undefined;
  /** Number of requests to show the question. */
  askedToAnswer: number;
  onForkPoint: (point: ForkPoint) => void;
};

export function StepsView(props: Props) {
  const { thread, log, status, askedToAnswer, onForkPoint } = props;
  const { cards: all, steps, lines } = log;
  // In waiting and moved threads, attempts without an end no longer run here.
  const cards =
    status === "waiting" || status === "moved"
      ? all.filter(({ attempt }) => attempt.status !== "running")
      : all;
  const isRunning = status === "running";
  const last = steps.at(-1);
  const question = status === "waiting" && last?.role === "__wait__" ? last : null;
  const wakesAt = sleepsUntil(question);
  // The user may have asked for the question before the log arrived.
  const shownStep = props.shownStep ?? (askedToAnswer > 0 ? question?.number : undefined);
  const { isFollowing, toggle } = useFollow(isLive(status), shownStep === undefined);
  useKeys({ f: toggle });
  if (!log.start) return <Skeleton lines={8} what="Loading the thread" />;
  return (
    <div className="flex flex-col gap-3 pt-3">
      <h2 className="sr-only">Steps</h2>
      {cards.length > 0 && (
        <StepList
          cards={cards}
          status={status}
          isArriving={isEnded(status) && !log.end}
          shownStep={shownStep}
          shownTimes={askedToAnswer}
          onForkPoint={onForkPoint}
          canRerun={thread.movedTo === undefined}
          foot={
            question && {
              number: question.number,
              node:
                wakesAt === null ? (
                  <AnswerForm
                    key={question.number}
                    thread={thread}
                    question={question}
                    asked={askedToAnswer}
                  />
                ) : (
                  <Asleep until={wakesAt} />
                ),
            }
          }
        />
      )}
      {isRunning && !cards.some(({ attempt }) => attempt.status === "running") && (
        <p className="flex items-center gap-2 px-4 py-2 text-muted [&>svg]:text-blue" role="status">
          <LoaderCircle /> Working on step {steps.length + 1}…
        </p>
      )}
      {cards.length === 0 && !isRunning && (
        <Empty icon={<Hourglass />} title="No steps">
          <p>The thread has committed nothing.</p>
        </Empty>
      )}
      <LogLines lines={lines} />
      <EndNote
        thread={thread}
        status={status}
        hasCard={failedAmong(all).length > 0}
        onRerun={() => onForkPoint({ kind: "rerun", number: steps.length + 1 })}
      />
      {isLive(status) && (
        <Button
          className="sticky bottom-4 self-center rounded-full! shadow-lg!"
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

/** The end of a thread's sleep. */
function Asleep({ until: at }: { until: number }) {
  const now = useNow(1_000);
  return (
    <p className="flex flex-wrap items-center gap-x-2 gap-y-1 border-t bg-violet-soft p-4">
      <Moon className="text-violet" />
      <span>
        Sleeping until <time dateTime={new Date(at).toISOString()}>{moment(at)}</time>
      </span>
      <span className="text-muted" role="timer">
        continues {until(at, now)}
      </span>
    </p>
  );
}

const outOfRounds =
  "It reached its limit of rounds before it was done. Retry with more rounds continues it in a new thread.";

const reasons: Partial<Record<Status, string>> = {
  interrupted: "No worker runs this thread. Resume continues it after its last committed step.",
  corrupt: "Its log has an invalid line. The steps before that line are shown.",
  paused: "It is paused. Resume continues with the next step.",
};

type EndNoteProps = {
  thread: Thread;
  status: Status;
  /** Whether the failed attempt has a card. */
  hasCard: boolean;
  onRerun: () => void;
};

/** How a thread ended, or why it stopped. */
function EndNote({ thread, status, hasCard, onRerun }: EndNoteProps) {
  const { result, failure, stepCount, movedTo } = thread;
  const end = isEnded(status) ? result : null;
  const isStopped = end?.reason === "maxRounds";
  const goesOn = end ? "" : " and continues there";
  const moved = movedTo === undefined ? undefined : `It has moved to ${movedTo}${goesOn}.`;
  const reason = moved ?? (isStopped ? outOfRounds : reasons[status]);
  if (!end && !reason) return null;
  return (
    <div className={`flex flex-col gap-1 rounded-lg px-4 py-3 ${softOf(status)}`}>
      <h3 className="flex items-center gap-2">
        <StatusIcon status={status} /> {isStopped ? stoppedText(stepCount) : status}
        {end && !isStopped && (
          <span className="text-small font-normal text-muted">return code {end.returnCode}</span>
        )}
      </h3>
      {reason && <p>{reason}</p>}
      {end?.summary && !isStopped && end.value === undefined && <Prose text={end.summary} />}
      {end?.value !== undefined && <Value value={end.value} />}
      {end && failure?.at && !hasCard && <Position at={failure.at} />}
      {end && failure && (
        <p className="text-muted">
          {failure.name}
          {typeof failure.role === "string" && ` in ${failure.role}`}, at step {failure.step}.
          {!moved &&
            " Retry keeps the committed steps and runs this one again. A rerun does the same with other values."}
        </p>
      )}
      {end && !moved && (status === "failed" || status === "killed") && (
        <div>
          <Button small icon={<RotateCcw />} onClick={onRerun}>
            Rerun from here…
          </Button>
        </div>
      )}
    </div>
  );
}

/** Distance from the end that counts as the end, in pixels. */
const nearPx = 48;

const endsMs = 2_000;

/** A scroll within this time after an input event counts as a scroll by the user, in milliseconds. */
const handMs = 1_000;
const hands = ["wheel", "touchmove", "keydown", "pointerdown", "pointermove"] as const;

const isAtEnd = (): boolean =>
  window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - nearPx;

/**
 * Keeps the end of a page in view while `canFollow`, until the user scrolls away. Scrolling back to the end
 * resumes. `begins` is the initial state.
 */
function useFollow(canFollow: boolean, begins: boolean) {
  const [isFollowing, setFollowing] = useState(begins && canFollow);
  const lastY = useRef(0);
  const touchedAt = useRef(0);
  useEffect(() => {
    const onScroll = () => {
      const isUp = window.scrollY < lastY.current - 2;
      lastY.current = window.scrollY;
      // The list also scrolls when rendered cards are lower than their estimates.
      const isByHand = Date.now() - touchedAt.current < handMs;
      if (isUp && isByHand && !isAtEnd()) setFollowing(false);
    };
    const onHand = ({ type }: Event) => {
      touchedAt.current = Date.now();
      if (type === "wheel" && canFollow && isAtEnd()) setFollowing(true);
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    for (const hand of hands) window.addEventListener(hand, onHand, { passive: true });
    return () => {
      window.removeEventListener("scroll", onScroll);
      for (const hand of hands) window.removeEventListener(hand, onHand);
    };
  }, [canFollow]);
  useEffect(() => {
    if (canFollow) return;
    // The end note appears shortly after the end of the thread.
    const timer = setTimeout(() => setFollowing(false), endsMs);
    return () => clearTimeout(timer);
  }, [canFollow]);
  useEffect(() => {
    if (!isFollowing) return;
    const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight });
    toEnd();
    const observer = new ResizeObserver(toEnd);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [isFollowing]);
  const toggle = useCallback(() => setFollowing((before) => !before), []);
  return { isFollowing: canFollow && isFollowing, toggle };
}
