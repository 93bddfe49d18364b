import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { EventsView } from "../../thread/events/events-view.tsx";
import { Question } from "../../thread/question/question.tsx";
import { liveNodes } from "../../kinds/steps/runs/live.ts";
import { RunControls } from "../../kinds/steps/runs/session-bar.tsx";
import type { LiveNode } from "../../editor/kind.ts";
import { cost, counted, duration, tokens, useNow } from "../../lib/format.ts";
import { type ThreadLog, useThreadLog } from "../../lib/thread-log.ts";
import { isLive, ledgerQuery, threadQuery } from "../../lib/threads.ts";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";

/** Update interval of running durations, in milliseconds. */
const tickMs = 1_000;

/** The log of the selected run, and the states of its steps. */
export function useSelectedRun(runID: string | null) {
  const log = useThreadLog(runID);
  const isRunning = log.status !== null && isLive(log.status);
  const now = useNow(tickMs, isRunning);
  const { cards, lastAt, status } = log;
  const version = cards.reduce((sum, { attempt }) => sum + attempt.version, cards.length);
  const live = useMemo(
    (): ReadonlyMap<string, LiveNode> => liveNodes(cards, status, Math.max(now, lastAt)),
    // `cards` is a new array at each render; the attempts' versions change with their content.
    [runID, version, status, now],
  );
  return { log, live };
}

type PanelProps = { runID: string | null; log: ThreadLog };

export function RunPanel({ runID, log }: PanelProps) {
  if (runID === null) {
    return (
      <p className="text-muted">
        No run is selected. “Run” starts one with the document as it is; a step's menu starts one
        from there.
      </p>
    );
  }
  return <Selected key={runID} runID={runID} log={log} />;
}

function Selected({ runID, log }: { runID: string; log: ThreadLog }) {
  const { data: thread, error, refetch } = useQuery(threadQuery(runID));
  const { data: ledger } = useQuery(ledgerQuery(runID));
  if (error) return <FailureNotice error={error} onRetry={() => void refetch()} />;
  if (!thread) return <Skeleton lines={4} />;
  const status = log.status ?? thread.status;
  const last = log.steps.at(-1);
  const question = status === "waiting" && last?.role === "__wait__" ? last : null;
  const begun = log.start?.createdAt ?? null;
  const spent = ledger ? Object.values(ledger.total.usage).reduce((sum, one) => sum + one, 0) : 0;
  const result = log.end?.result ?? thread.result;
  return (
    <section className="flex flex-col gap-3" aria-label="The selected run">
      <RunControls thread={thread} status={status} isPausing={log.isPausing} />
      <p className="text-small text-muted">
        {[
          counted(log.steps.length, "step"),
          ...(begun === null ? [] : [duration(log.lastAt - begun)]),
          ...(spent > 0 ? [`${tokens(spent)} tokens`, cost(ledger?.total.cost ?? 0)] : []),
        ].join(" · ")}
      </p>
      {question && (
        <div className="overflow-hidden rounded-md border">
          <Question key={question.number} threadId={runID} step={question} asked={0} />
        </div>
      )}
      {result && (
        <p className={`whitespace-pre-wrap wrap-anywhere ${status === "failed" ? "text-red" : ""}`}>
          {result.summary}
        </p>
      )}
    </section>
  );
}

type EventsProps = { runID: string | null; onStep: (id: string) => void };

export function RunEvents({ runID, onStep }: EventsProps) {
  if (runID === null) return <p className="text-muted">No run is selected.</p>;
  return (
    <div className="flex h-140 flex-col">
      <EventsView
        key={runID}
        threadId={runID}
        onPlace={({ stepID }) => onStep(stepID?.split("/", 1)[0] ?? "")}
      />
    </div>
  );
}
