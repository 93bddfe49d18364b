import { Link } from "@tanstack/react-router";
import type { Status, Thread } from "@uncaged/workflow-server/api-types";
import { ArrowUpRight, OctagonX, Pause, Play, RotateCcw } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { cost, counted, duration, tokens } from "../../lib/format.ts";
import { useControl } from "../../lib/thread-actions.ts";
import {
  type ForkPoint,
  forkThread,
  isEnded,
  isLive,
  killThread,
  retryThread,
} from "../../lib/threads.ts";
import { Button, useKeptFocus } from "../../ui/button.tsx";
import { FailureNotice, PausingNote, Skeleton } from "../../ui/states.tsx";
import { Detail } from "../detail/detail.tsx";
import { ForkDialog } from "../fork/fork-dialog.tsx";
import { footOf } from "../question/row-foot.tsx";
import { StatusBadge } from "../status/status.tsx";
import { leadingRow } from "../trace/selection.ts";
import { TracePane } from "../trace/trace-pane.tsx";
import { useFigures } from "./figures.ts";
import { Outcome } from "./outcome.tsx";
import type { Run } from "./use-run.ts";

type Props = {
  run: Run;
  /** The id of the chosen row; null for the row that needs attention. */
  row: string | null;
  onRow: (id: string | null) => void;
  onStarted: (threadId: string, label: string) => void;
};

/** A run beside its document: its figures and controls, its trace, and the selected row. */
export function RunPanel(props: Props) {
  const { thread, status, error, refetch } = props.run;
  if (error && !thread) {
    return (
      <div className="p-3">
        <FailureNotice error={error} onRetry={refetch} />
      </div>
    );
  }
  if (!thread || !status) return <Skeleton lines={6} what="Loading the run" />;
  return <Shown key={thread.threadId} {...props} thread={thread} status={status} />;
}

type ShownProps = Props & { thread: Thread; status: Status };

function Shown(props: ShownProps) {
  const { run, row: chosen, onRow, onStarted, thread, status } = props;
  const { log, rows } = run;
  const [point, setPoint] = useState<ForkPoint | null>(null);
  const figures = useFigures(thread, status, log);
  const row = rows.find(({ id }) => id === chosen) ?? leadingRow(rows, status);
  return (
    <section
      className="flex min-h-0 flex-1 flex-col max-md:flex-none"
      aria-label="The selected run"
    >
      <Head {...props} figures={figures} />
      <Outcome
        thread={thread}
        status={status}
        hasRow={rows.some(({ failedAt }) => failedAt !== null)}
      />
      <div className="flex min-h-40 flex-[3] flex-col max-md:h-80 max-md:flex-none">
        <TracePane
          rows={rows}
          selected={row?.id ?? null}
          onSelect={onRow}
          now={Math.max(figures.now, log.lastAt)}
          follows={chosen === null && isLive(status)}
        />
      </div>
      {row && (
        // Makes details without controls scrollable by keyboard.
        <div
          className="min-h-0 flex-[4] overflow-y-auto border-t max-md:flex-none max-md:overflow-visible"
          tabIndex={0}
        >
          <Detail
            key={row.id}
            row={row}
            thread={thread}
            onForkPoint={setPoint}
            canRerun={thread.movedTo === undefined}
            foot={status === "waiting" && footOf(row, thread.threadId)}
          />
        </div>
      )}
      {point && (
        <ForkDialog
          thread={thread}
          steps={log.steps}
          point={point}
          onMade={(id) => onStarted(id, `From step ${point.number}`)}
          onClose={() => setPoint(null)}
        />
      )}
    </section>
  );
}

type HeadProps = ShownProps & { figures: ReturnType<typeof useFigures> };

function Head({ run: { log }, thread, status, figures, onStarted }: HeadProps) {
  const { threadId } = thread;
  const { work, isPausing, pause, resume } = useControl(threadId, status, log.isPausing);
  const buttons = useRef<HTMLDivElement>(null);
  useKeptFocus(buttons);
  const { workedMs, steps, spent } = figures;
  const stopped = (log.end?.result ?? thread.result)?.reason === "maxRounds";
  const again = (label: string, start: () => Promise<{ threadId: string }>) => () =>
    work.mutate(async () => onStarted((await start()).threadId, label));
  const act = (label: string, icon: ReactNode, perform: () => void, isMain = false) => (
    <Button look={isMain ? "solid" : "plain"} icon={icon} isBusy={work.isPending} onClick={perform}>
      {label}
    </Button>
  );
  const canResume = isPausing || status === "paused" || status === "interrupted";
  return (
    <header className="flex flex-none flex-col gap-2 border-b p-3">
      <div className="flex flex-wrap items-center gap-2">
        <StatusBadge status={status} stoppedAt={stopped ? steps : null} />
        <p className="min-w-0 flex-1 text-small text-muted">
          {[
            duration(workedMs),
            counted(steps, "step"),
            ...(spent.tokens > 0 ? [`${tokens(spent.tokens)} tokens`, cost(spent.cost)] : []),
          ].join(" · ")}
        </p>
        <Link
          to="/threads/$id"
          params={{ id: threadId }}
          className="inline-flex min-h-6 items-center gap-1 text-small max-sm:min-h-10"
        >
          Thread <ArrowUpRight />
        </Link>
      </div>
      <p role="status" className="sr-only">{`Run: ${status}`}</p>
      <div ref={buttons} className="flex flex-wrap gap-2 empty:hidden">
        {isPausing && <PausingNote />}
        {status === "running" && !isPausing && act("Pause", <Pause />, pause)}
        {canResume && act("Resume", <Play />, resume, true)}
        {!isEnded(status) && status !== "corrupt" && status !== "moved" && (
          <Button
            look="danger"
            icon={<OctagonX />}
            isBusy={work.isPending}
            onClick={() => work.mutate(() => killThread(threadId))}
          >
            Cancel
          </Button>
        )}
        {(status === "failed" || status === "killed") &&
          act(
            "Retry",
            <RotateCcw />,
            again("Retry", () => retryThread(threadId)),
            true,
          )}
        {isEnded(status) &&
          act(
            "Rerun",
            <RotateCcw />,
            again("Rerun", () => forkThread(threadId, { keep: { atStep: 0 } })),
          )}
      </div>
      {work.error && <FailureNotice error={work.error} />}
    </header>
  );
}
