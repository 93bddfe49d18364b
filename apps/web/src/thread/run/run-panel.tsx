import { Link } from "@tanstack/react-router";
import { ArrowUpRight, OctagonX, RotateCcw } from "lucide-react";
import { cost, counted, duration, tokens } from "../../lib/format.ts";
import { forkThread, isEnded, isLive, killThread } from "../../lib/threads.ts";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { Detail } from "../detail/detail.tsx";
import { StatusBadge } from "../status/status.tsx";
import { leadingRow } from "../trace/rows.ts";
import { TracePane } from "../trace/trace-pane.tsx";
import { ThreadContext, useFigures, useThread } from "./thread-context.tsx";
import { Outcome } from "./outcome.tsx";
import { RunButtons } from "./run-buttons.tsx";
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
  return (
    <ThreadContext
      key={thread.threadId}
      run={props.run}
      thread={thread}
      status={status}
      onForked={(id, { number }) => props.onStarted(id, `From step ${number}`)}
    >
      <Shown {...props} />
    </ThreadContext>
  );
}

function Shown({ row: chosen, onRow, onStarted }: Props) {
  const { log, rows, status } = useThread();
  const figures = useFigures();
  const row = rows.find(({ id }) => id === chosen) ?? leadingRow(rows, status);
  return (
    <section
      className="flex min-h-0 flex-1 flex-col max-md:flex-none"
      aria-label="The selected run"
    >
      <Head figures={figures} onStarted={onStarted} />
      <Outcome />
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
          <Detail key={row.id} row={row} />
        </div>
      )}
    </section>
  );
}

type HeadProps = Pick<Props, "onStarted"> & { figures: ReturnType<typeof useFigures> };

function Head({ figures: { workedMs, steps, spent }, onStarted }: HeadProps) {
  const { threadId, status, isStopped } = useThread();
  const rerun = async () =>
    onStarted((await forkThread(threadId, { keep: { atStep: 0 } })).threadId, "Rerun");
  return (
    <header className="flex flex-none flex-col gap-2 border-b p-3">
      <div className="flex flex-wrap items-center gap-2">
        <StatusBadge status={status} stoppedAt={isStopped ? steps : null} />
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
      <RunButtons onRetried={(id) => onStarted(id, "Retry")}>
        {({ button, perform }) =>
          isEnded(status)
            ? button("Rerun", <RotateCcw />, () => perform(rerun), "plain")
            : status !== "corrupt" &&
              status !== "moved" &&
              button("Cancel", <OctagonX />, () => perform(() => killThread(threadId)), "danger")
        }
      </RunButtons>
    </header>
  );
}
