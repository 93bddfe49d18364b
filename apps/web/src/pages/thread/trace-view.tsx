import type { Status, Thread } from "@uncaged/workflow-server/api-types";
import { ArrowDownToLine, ArrowLeft, Hourglass, LoaderCircle } from "lucide-react";
import { lazy, Suspense, useCallback, useEffect, useRef } from "react";
import { useNow } from "../../lib/format.ts";
import type { ThreadLog } from "../../lib/thread-log.ts";
import { type ForkPoint, isLive } from "../../lib/threads.ts";
import { pointOf } from "../../thread/detail/fork-point.ts";
import { Detail } from "../../thread/detail/detail.tsx";
import { footOf } from "../../thread/question/row-foot.tsx";
import type { TraceRow } from "../../thread/trace/rows.ts";
import { leadingRow } from "../../thread/trace/selection.ts";
import { TracePane } from "../../thread/trace/trace-pane.tsx";
import { Button } from "../../ui/button.tsx";
import { useKeys } from "../../ui/page.tsx";
import { Empty, Skeleton } from "../../ui/states.tsx";

const GraphView = lazy(async () => ({
  default: (await import("../../thread/graph/graph-view.tsx")).GraphView,
}));

type Props = {
  view: "trace" | "graph";
  thread: Thread;
  log: ThreadLog;
  status: Status;
  rows: readonly TraceRow[];
  chosen: string | null;
  askedToAnswer: number;
  onSelect: (id: string | null) => void;
  onForkPoint: (point: ForkPoint) => void;
  canRerun: boolean;
};

/** The trace, or the graph, beside its selected row. On a narrow screen, shows one of them at a time. */
export function TraceView(props: Props) {
  const { view, thread, log, status, rows, chosen, askedToAnswer, onForkPoint, canRerun } = props;
  const now = useNow(500, isLive(status) || status === "waiting");
  const pane = useRef<HTMLDivElement>(null);
  const row = rows.find(({ id }) => id === chosen) ?? leadingRow(rows, status);
  const select = useRef(props.onSelect);
  useEffect(() => {
    select.current = props.onSelect;
  });
  const onSelect = useCallback((id: string) => {
    select.current(id);
  }, []);
  const isOpen = chosen !== null;
  const start = (kind: ForkPoint["kind"]) => {
    const point = pointOf(row, kind);
    if (point && (kind === "fork" || canRerun)) onForkPoint(point);
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
            onClick={() => props.onSelect(null)}
          >
            Follow
          </Button>
        )}
      </div>
      <div
        ref={pane}
        tabIndex={-1}
        className={`min-h-0 min-w-0 overflow-y-auto outline-none xl:border-l ${isOpen ? "" : "max-xl:hidden"}`}
      >
        <div className="sticky top-0 z-10 border-b bg-surface px-2 py-1 xl:hidden">
          <Button
            look="quiet"
            className="min-h-10"
            icon={<ArrowLeft />}
            onClick={() => props.onSelect(null)}
          >
            {view === "graph" ? "Graph" : "Trace"}
          </Button>
        </div>
        {row && (
          <Detail
            // While following, each step replaces the row. A new element would lose the focus.
            key={isOpen || status === "waiting" ? row.id : "newest"}
            row={row}
            thread={thread}
            onForkPoint={onForkPoint}
            canRerun={canRerun}
            foot={status === "waiting" && footOf(row, thread.threadId, askedToAnswer)}
          />
        )}
      </div>
    </div>
  );
}
