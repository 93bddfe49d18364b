import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { sleepsUntil, type ThreadTimes, timesAt, Waited } from "@uncaged/workflow/records";
import type { Status, Thread } from "@uncaged/workflow-server/api-types";
import { ChevronRight } from "lucide-react";
import { StatusBadge } from "../../thread/status/status.tsx";
import { ago, cost, count, duration, moment, tokens, useNow } from "../../lib/format.ts";
import type { ThreadLog } from "../../lib/thread-log.ts";
import { type ForkPoint, isEnded, isLive, ledgerQuery } from "../../lib/threads.ts";
import { Copy } from "../../ui/button.tsx";
import { Controls } from "./controls.tsx";
import { Facts } from "../../ui/facts.tsx";

type Props = {
  thread: Thread;
  status: Status;
  log: ThreadLog;
  onFork: (point: ForkPoint) => void;
  onAnswer: () => void;
};

export function ThreadHead({ thread, status, log, onFork, onAnswer }: Props) {
  const { threadId, workflow, hash } = thread;
  const sleepingUntil = status === "waiting" ? sleepsUntil(log.steps.at(-1) ?? thread.last) : null;
  const isStopped = (log.end?.result ?? thread.result)?.reason === "maxRounds";
  return (
    <header className="flex flex-col gap-2 sm:contents">
      <nav className="flex items-center gap-1 text-small text-muted" aria-label="Breadcrumb">
        <Link to="/">Threads</Link>
        <ChevronRight className="text-faint" />
        <span className="overflow-hidden font-mono text-ellipsis">{threadId}</span>
        <Copy text={threadId} what="the thread's id" />
      </nav>
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 bg-page sm:sticky sm:top-below sm:z-20 sm:-mx-5 sm:-my-2 sm:px-5 sm:py-2">
        <h1 className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-2">
          <Link to="/workflows/$name" params={{ name: workflow }} className="text-inherit">
            {workflow}
          </Link>
          <span className="code font-normal text-faint" title={`Version ${hash}`}>
            {hash}
          </span>
          <StatusBadge
            status={status}
            sleepingUntil={sleepingUntil}
            stoppedAt={isStopped ? thread.stepCount : null}
            large
          />
        </h1>
        <Controls
          thread={thread}
          status={status}
          isPausing={log.isPausing}
          isStopped={isStopped}
          asksFor={status === "waiting" && sleepingUntil === null}
          onFork={onFork}
          onAnswer={onAnswer}
        />
      </div>
      <p role="status" className="sr-only">
        The thread is {isStopped ? "stopped" : sleepingUntil === null ? status : "sleeping"}.
      </p>
      <ThreadFacts thread={thread} status={status} log={log} />
    </header>
  );
}

function timesOf(thread: Thread, status: Status, log: ThreadLog, now: number): ThreadTimes {
  const { createdAt, stepCount } = thread;
  // Shows the server's values until all steps have arrived.
  if (log.steps.length < stepCount) return thread;
  const waited = new Waited(createdAt);
  for (const step of log.steps) waited.take(step);
  const last = log.steps.at(-1)?.timestamp ?? createdAt;
  const updatedAt = isEnded(status) ? Math.max(last, log.lastAt) : last;
  if (isEnded(status)) waited.take({ role: "__end__", timestamp: updatedAt });
  return timesAt({ status, createdAt, updatedAt, waitedMs: waited.ms }, now);
}

function ThreadFacts({ thread, status, log }: Omit<Props, "onFork" | "onAnswer">) {
  const { createdAt, threadId, maxRounds } = thread;
  const { data: ledger } = useQuery(ledgerQuery(threadId));
  const now = useNow(isLive(status) ? 1_000 : 30_000);
  const { workedMs, waitedMs } = timesOf(thread, status, log, now);
  const steps = Math.max(log.steps.length, thread.stepCount);
  const { total } = ledger ?? {};
  const noPrice = total && total.unpriced > 0 ? `${total.unpriced} steps have no known price` : "";
  return (
    <Facts
      look="row"
      className="[&_dd]:font-semibold"
      facts={[
        ["Steps", count(steps), `At most ${count(maxRounds)}`],
        ["Worked", duration(workedMs)],
        ...(waitedMs > 0 ? ([["Waited", duration(waitedMs)]] as const) : []),
        ["Tokens", total ? tokens(total.tokens) : "…"],
        ["Cost", total ? `${cost(total.cost)}${noPrice && "+"}` : "…", noPrice],
        ["Started", ago(createdAt, now), moment(createdAt)],
      ]}
    />
  );
}
