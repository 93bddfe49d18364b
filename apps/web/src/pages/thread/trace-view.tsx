import { ArrowDownToLine, ArrowLeft, Hourglass, LoaderCircle } from "lucide-react";
import { lazy, Suspense, useRef, useState } from "react";
import { useNow } from "../../lib/format.ts";
import { type ForkPoint, isLive } from "../../lib/threads.ts";
import { pointOf } from "../../thread/fork/fork.ts";
import { Detail } from "../../thread/detail/detail.tsx";
import { hasDraft } from "../../thread/question/question.tsx";
import { useThread } from "../../thread/run/thread-context.tsx";
import { leadingRow } from "../../thread/trace/rows.ts";
import { TracePane } from "../../thread/trace/trace-pane.tsx";
import { Button, useKeptFocus } from "../../ui/button.tsx";
import { useKeys } from "../../ui/page.tsx";
import { Empty, Skeleton } from "../../ui/states.tsx";

const GraphView = lazy(async () => ({
  default: (await import("../../thread/graph/graph-view.tsx")).GraphView,
}));

type Props = {
  view: "trace" | "graph";
  chosen: string | null;
  askedToAnswer: number;
  onSelect: (id: string | null) => void;
};

/** The trace, or the graph, beside its selected row. On a narrow screen, shows one of them at a time. */
export function TraceView({ view, chosen, askedToAnswer, onSelect }: Props) {
  const { thread, log, status, rows, fork } = useThread();
  const now = useNow(500, isLive(status) || status === "waiting");
  const pane = useRef<HTMLDivElement>(null);
  useKeptFocus(pane);
  // A question stays while its answer is typed, also if another tab answers it.
  const [typedIn, setTypedIn] = useState("");
  const typed = rows.find((one) => one.id === typedIn && hasDraft(thread.threadId, one));
  const row = rows.find(({ id }) => id === chosen) ?? typed ?? leadingRow(rows, status);
  const isOpen = chosen !== null;
  const start = (kind: ForkPoint["kind"]) => {
    const point = pointOf(row, kind, thread);
    if (point) fork(point);
  };
  useKeys({ f: () => start("fork"), r: () => start("rerun") });
  const end = Math.max(now, log.lastAt);
  if (!log.start) return <Skeleton lines={8} what="Loading the thread" />;
  const isIdle = status === "running" && !rows.some((one) => one.status === "running");
  return (
    <div className="grid min-h-0 flex-1 grid-cols-[minmax(0,1fr)] xl:grid-cols-[minmax(0,1.2fr)_minmax(0,1fr)]">
      <div className={`relative flex min-h-0 min-w-0 flex-col ${isOpen ? "max-xl:hidden" : ""}`}>
        {view === "graph" ? (
          <Suspense fallback={<Skeleton lines={8} />}>
            <GraphView
              hash={thread.hash}
              rows={rows}
              selected={row?.id ?? null}
              onSelect={onSelect}
            />
          </Suspense>
        ) : rows.length === 0 && !isIdle ? (
          <Empty icon={<Hourglass />} title="No steps">
            <p>The thread has committed nothing.</p>
          </Empty>
        ) : (
          <TracePane
            rows={rows}
            selected={row?.id ?? null}
            onSelect={onSelect}
            now={end}
            follows={!isOpen && isLive(status)}
            onOpen={() => {
              if (row) onSelect(row.id);
              requestAnimationFrame(() => pane.current?.focus());
            }}
            foot={
              isIdle && (
                <p
                  className="flex items-center gap-2 px-4 py-2 text-muted [&>svg]:text-blue"
                  role="status"
                >
                  <LoaderCircle /> Working on step {log.steps.length + 1}…
                </p>
              )
            }
          />
        )}
        {isLive(status) && isOpen && view === "trace" && (
          <Button
            className="absolute bottom-4 left-1/2 -translate-x-1/2 rounded-full!"
            icon={<ArrowDownToLine />}
            title="Show the newest row"
            onClick={() => onSelect(null)}
          >
            Follow
          </Button>
        )}
      </div>
      <div
        ref={pane}
        tabIndex={-1}
        onInput={() => setTypedIn(row?.id ?? "")}
        className={`min-h-0 min-w-0 overflow-y-auto outline-none xl:border-l ${isOpen ? "" : "max-xl:hidden"}`}
      >
        <div className="sticky top-0 z-10 border-b bg-surface px-2 py-1 xl:hidden">
          <Button
            look="quiet"
            className="min-h-10"
            icon={<ArrowLeft />}
            onClick={() => onSelect(null)}
          >
            {view === "graph" ? "Graph" : "Trace"}
          </Button>
        </div>
        {row && (
          <Detail
            // While following, each step replaces the row. A new element would lose the focus.
            key={isOpen || typed || status === "waiting" ? row.id : "newest"}
            row={row}
            asked={askedToAnswer}
          />
        )}
      </div>
    </div>
  );
}
