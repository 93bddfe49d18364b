import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { Tabs } from "../controls/tabs.tsx";
import { ForkDialog } from "../fork/fork-dialog.tsx";
import type { ForkPoint } from "../fork/fork.ts";
import { useThreadLog } from "../log/use-thread-log.ts";
import { Skeleton } from "../states/skeleton.tsx";
import { SectionsContext } from "../steps/section.tsx";
import { CommittedContext } from "../value/cut.tsx";
import { About } from "./about.tsx";
import { Deleted } from "./deleted.tsx";
import type { View } from "./search.ts";
import { StepsView } from "./steps-view.tsx";
import styles from "./thread.module.css";
import { ThreadHead } from "./thread-head.tsx";

const GraphView = lazy(async () => ({
  default: (await import("../graph/graph-view.tsx")).GraphView,
}));
const TimelineView = lazy(async () => ({
  default: (await import("../timeline/timeline-view.tsx")).TimelineView,
}));

const tabs = [
  { value: "steps", label: "Steps" },
  { value: "graph", label: "Graph" },
  { value: "timeline", label: "Timeline" },
  { value: "about", label: "About", className: styles.aboutTab },
] as const;

/** A thread: its head, its steps and the other views of it, and what it is. */
export function ThreadView({ thread }: { thread: Thread }) {
  const { threadId, prompt } = thread;
  const { view = "steps", step } = useSearch({ from: "/threads/$id" });
  const navigate = useNavigate({ from: "/threads/$id" });
  const log = useThreadLog(threadId);
  const [forkPoint, setForkPoint] = useState<ForkPoint | null>(null);
  // Who goes back or on has left the dialog behind.
  useEffect(() => setForkPoint(null), [view, step]);
  const [askedToAnswer, setAskedToAnswer] = useState(0);
  const sections = useMemo(() => new Map<string, boolean>(), []);
  const committed = useMemo(
    () => ({ threadId, prompt, steps: log.steps }),
    [threadId, prompt, log],
  );
  const status = log.status ?? thread.status;
  const show = (next: View, shown?: number) =>
    void navigate({
      search: { view: next === "steps" ? undefined : next, step: shown },
      // The step is scrolled to.
      resetScroll: shown === undefined,
    });
  const answer = () => {
    setAskedToAnswer((times) => times + 1);
    show("steps", log.steps.at(-1)?.number);
  };
  if (log.isRemoved) return <Deleted />;
  return (
    <SectionsContext value={sections}>
      <CommittedContext value={committed}>
        <div className={styles.page}>
          <ThreadHead
            thread={thread}
            status={status}
            log={log}
            onFork={setForkPoint}
            onAnswer={answer}
          />
          <div className={styles.columns}>
            <div className={styles.views}>
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
                      isRunning={status === "running"}
                      onStep={(number) => show("steps", number)}
                      onForkPoint={setForkPoint}
                    />
                  )}
                  {view === "timeline" && (
                    <TimelineView
                      log={log}
                      isRunning={status === "running"}
                      onStep={(number) => show("steps", number)}
                    />
                  )}
                  {view === "about" && <About thread={thread} />}
                </Suspense>
              </Tabs>
            </div>
            <aside className={styles.aside} aria-label="About the thread">
              <About thread={thread} />
            </aside>
          </div>
        </div>
        <ForkDialog
          thread={thread}
          steps={log.steps}
          point={forkPoint}
          onClose={() => setForkPoint(null)}
        />
      </CommittedContext>
    </SectionsContext>
  );
}
