import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { lazy, Suspense, useState } from "react";
import { ApiError } from "../../lib/request.ts";
import type { View } from "../../lib/search.ts";
import { subjectIn } from "../../lib/thread-log.ts";
import { threadQuery } from "../../lib/threads.ts";
import { Outcome } from "../../thread/run/outcome.tsx";
import { RunContext, ThreadContext } from "../../thread/run/thread-context.tsx";
import { useRun } from "../../thread/run/use-run.ts";
import { ButtonLink } from "../../ui/button.tsx";
import { Page, useTitle } from "../../ui/page.tsx";
import { Empty, FailureNotice, Skeleton } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { ThreadHead } from "./thread-head.tsx";
import { TraceView } from "./trace-view.tsx";

export function ThreadPage() {
  const { id } = useParams({ from: "/threads/$id" });
  const { data: thread, error, refetch } = useQuery(threadQuery(id));
  useTitle(thread ? `${subjectIn(thread)} ${thread.status}` : "Thread");
  const isGone = error instanceof ApiError && error.status === 404;
  if (thread && isGone) return <Deleted />;
  if (thread) return <ThreadView key={thread.threadId} thread={thread} />;
  return (
    <Page title={`Thread ${id}`}>
      {error ? (
        <FailureNotice error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={10} />
      )}
    </Page>
  );
}

const StateView = lazy(async () => ({
  default: (await import("../../thread/state/state-view.tsx")).StateView,
}));
const EventsView = lazy(async () => ({
  default: (await import("../../thread/events/events-view.tsx")).EventsView,
}));

const tabs = [
  { value: "trace", label: "Trace" },
  { value: "graph", label: "Graph" },
  { value: "state", label: "State" },
  { value: "events", label: "Events" },
] as const;

function ThreadView({ thread }: { thread: Thread }) {
  const { threadId } = thread;
  const { view = "trace", row, step } = useSearch({ from: "/threads/$id" });
  const navigate = useNavigate({ from: "/threads/$id" });
  const run = useRun(threadId);
  const { log, rows } = run;
  const [askedToAnswer, setAskedToAnswer] = useState(0);
  const show = (next: View, shown?: string) =>
    navigate({
      search: { view: next === "trace" ? undefined : next, row: shown },
      // A phone shows the selected row in place of the trace: Back returns to the trace.
      replace: next === view && row !== undefined && shown !== undefined,
      resetScroll: false,
    });
  const ofStep = rows.find(({ number, failedAt }) => step && (number ?? failedAt) === step);
  const chosen = row ?? ofStep?.id ?? null;
  const answer = async () => {
    const question = rows.findLast(({ kind }) => kind === "question");
    if (question) await show("trace", question.id);
    // The log has not arrived. The question is the last step.
    else await navigate({ search: { step: thread.stepCount }, resetScroll: false });
    // A phone shows the form only now. A hidden form can't take the focus.
    setAskedToAnswer((times) => times + 1);
  };
  if (log.isRemoved) return <Deleted />;
  return (
    <RunContext run={run}>
      <ThreadContext run={run} thread={thread} status={run.status ?? thread.status}>
        <div className="flex h-[calc(100dvh-var(--spacing-below))] min-h-120 flex-col bg-surface">
          <ThreadHead onAnswer={() => void answer()} />
          <Outcome />
          <Tabs
            fills
            label="Views of the thread"
            tabs={tabs}
            value={view}
            // A phone would show the row in place of the view.
            onChange={(next) => void show(next as View, isWide() ? row : undefined)}
          >
            <Suspense fallback={<Skeleton lines={8} />}>
              {(view === "trace" || view === "graph") && (
                <TraceView
                  view={view}
                  chosen={chosen}
                  askedToAnswer={askedToAnswer}
                  onSelect={(id) => void show(view, id ?? undefined)}
                />
              )}
              {view === "state" && <StateView />}
              {view === "events" && (
                <EventsView
                  threadId={threadId}
                  onPlace={({ attempt, stepID }) =>
                    void show(
                      "trace",
                      attempt ?? rows.find(({ card }) => card?.attempt.stepID === stepID)?.id,
                    )
                  }
                />
              )}
            </Suspense>
          </Tabs>
        </div>
      </ThreadContext>
    </RunContext>
  );
}

const isWide = (): boolean => matchMedia("(width >= 64rem)").matches;

function Deleted() {
  return (
    <Page title="Thread">
      <Empty title="This thread was deleted">
        <p>Its logs are gone.</p>
        <ButtonLink to="/">To the threads</ButtonLink>
      </Empty>
    </Page>
  );
}
