import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from "react";
import { ForkDialog } from "../../thread/fork/fork-dialog.tsx";
import { ApiError } from "../../lib/request.ts";
import type { View } from "../../lib/search.ts";
import { useThreadLog } from "../../lib/thread-log.ts";
import { type ForkPoint, threadQuery } from "../../lib/threads.ts";
import { ButtonLink } from "../../ui/button.tsx";
import { Page, useTitle } from "../../ui/page.tsx";
import { SectionsContext } from "../../ui/section.tsx";
import { Empty, FailureNotice, Skeleton } from "../../ui/states.tsx";
import { addressOf, readValue } from "../../lib/values.ts";
import { Tabs } from "../../ui/tabs.tsx";
import { type ValueSource, ValueSourceContext } from "../../ui/value.tsx";
import { About } from "./about.tsx";
import { StepsView } from "./steps-view.tsx";
import { ThreadHead } from "./thread-head.tsx";

export function ThreadPage() {
  const { id } = useParams({ from: "/threads/$id" });
  const { data: thread, error, refetch } = useQuery(threadQuery(id));
  useTitle(thread ? `${thread.workflow} ${thread.status}` : "Thread");
  const isGone = error instanceof ApiError && error.status === 404;
  if (thread && isGone) return <Deleted />;
  if (thread) return <ThreadView key={thread.threadId} thread={thread} />;
  return (
    <Frame>
      <h1>Thread {id}</h1>
      {error ? (
        <FailureNotice error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={10} />
      )}
    </Frame>
  );
}

const Frame = ({ children }: { children: ReactNode }) => (
  <div className="mx-auto flex max-w-360 flex-col gap-4 px-5 pt-4 pb-16 max-sm:px-3 max-sm:pt-3">
    {children}
  </div>
);

const GraphView = lazy(async () => ({
  default: (await import("../../thread/graph/graph-view.tsx")).GraphView,
}));
const TimelineView = lazy(async () => ({
  default: (await import("../../thread/timeline/timeline-view.tsx")).TimelineView,
}));

const tabs = [
  { value: "steps", label: "Steps" },
  { value: "graph", label: "Graph" },
  { value: "timeline", label: "Timeline" },
  { value: "about", label: "About", className: "xl:hidden" },
] as const;

function ThreadView({ thread }: { thread: Thread }) {
  const { threadId, prompt } = thread;
  const { view = "steps", step } = useSearch({ from: "/threads/$id" });
  const navigate = useNavigate({ from: "/threads/$id" });
  const log = useThreadLog(threadId);
  const [forkPoint, setForkPoint] = useState<ForkPoint | null>(null);
  // Browser navigation closes the dialog.
  useEffect(() => setForkPoint(null), [view, step]);
  const [askedToAnswer, setAskedToAnswer] = useState(0);
  const sections = useMemo(() => new Map<string, boolean>(), []);
  const values = useMemo(
    (): ValueSource => ({
      name: threadId,
      read: (value, signal) => readValue(value, { threadId, prompt, steps: log.steps }, signal),
      addressOf: (value) => addressOf(threadId, value),
    }),
    [threadId, prompt, log],
  );
  // The thread reports a move before the stream does, and the server refuses actions on a moved thread.
  const status = thread.status === "moved" ? thread.status : (log.status ?? thread.status);
  const show = (next: View, shown?: number) =>
    void navigate({
      search: { view: next === "steps" ? undefined : next, step: shown },
      // The page scrolls to the step instead.
      resetScroll: shown === undefined,
    });
  const answer = () => {
    setAskedToAnswer((times) => times + 1);
    show("steps", log.steps.at(-1)?.number);
  };
  if (log.isRemoved) return <Deleted />;
  return (
    <SectionsContext value={sections}>
      <ValueSourceContext value={values}>
        <Frame>
          <ThreadHead
            thread={thread}
            status={status}
            log={log}
            onFork={setForkPoint}
            onAnswer={answer}
          />
          <div className="grid grid-cols-[minmax(0,1fr)_19rem] items-start gap-6 max-xl:grid-cols-[minmax(0,1fr)]">
            <div className="min-w-0">
              <Tabs
                label="Views of the thread"
                tabs={tabs}
                value={view}
                onChange={(next) => show(next as View)}
              >
                <Suspense fallback={<Skeleton lines={8} />}>
                  {view === "steps" && (
                    <StepsView
                      thread={thread}
                      log={log}
                      status={status}
                      shownStep={step}
                      askedToAnswer={askedToAnswer}
                      onForkPoint={setForkPoint}
                    />
                  )}
                  {view === "graph" && (
                    <GraphView
                      hash={thread.hash}
                      log={log}
                      status={status}
                      actions={{
                        onDetails: (number) => show("steps", number),
                        onForkPoint: setForkPoint,
                        canRerun: thread.movedTo === undefined,
                      }}
                    />
                  )}
                  {view === "timeline" && (
                    <TimelineView
                      log={log}
                      status={status}
                      onStep={(number) => show("steps", number)}
                    />
                  )}
                  {view === "about" && <About thread={thread} />}
                </Suspense>
              </Tabs>
            </div>
            <aside
              className="sticky top-[6.4rem] max-h-[calc(100dvh-7.3rem)] overflow-y-auto max-xl:hidden"
              aria-label="About the thread"
            >
              <About thread={thread} />
            </aside>
          </div>
        </Frame>
        {forkPoint && (
          <ForkDialog
            thread={thread}
            steps={log.steps}
            point={forkPoint}
            onClose={() => setForkPoint(null)}
          />
        )}
      </ValueSourceContext>
    </SectionsContext>
  );
}

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
