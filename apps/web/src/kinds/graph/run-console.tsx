import type { ApprovalInput, RunStatus } from "@uncaged/workflow-graph/run";
import {
  Ban,
  CircleCheck,
  CirclePause,
  CircleX,
  LoaderCircle,
  type LucideIcon,
  Play,
  RotateCcw,
  Square,
  Trash2,
} from "lucide-react";
import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { forgetKept, isComposing } from "../../lib/kept.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { TextArea } from "../../ui/field.tsx";
import { Badge, sentence, Skeleton } from "../../ui/states.tsx";
import { RunItemView } from "./run-items.tsx";
import { isOpen, type RunSession, type RunState, type ShownRun } from "./run-session.ts";
import { isInterrupted, itemsOf, shownStatus, type Writing } from "./run-view.ts";

/** The reason why the graph can't run, with an action that helps. */
export type Blocked = { message: string; action?: ReactNode };

type Props = {
  session: RunSession;
  writing: Writing;
  /** The prompt of the edited graph; null without a Start. */
  prompt: string | null;
  onPrompt: (text: string) => void;
  blocked: Blocked | null;
  onRun: () => void;
  link: (runId: string) => ReactNode;
};

const looks: Record<RunStatus, { icon: LucideIcon; look: string }> = {
  pending: { icon: LoaderCircle, look: "text-blue bg-blue-soft" },
  running: { icon: LoaderCircle, look: "text-blue bg-blue-soft" },
  paused: { icon: CirclePause, look: "text-amber bg-amber-soft" },
  completed: { icon: CircleCheck, look: "text-green bg-green-soft" },
  failed: { icon: CircleX, look: "text-red bg-red-soft" },
  cancelled: { icon: Ban, look: "text-gray bg-gray-soft" },
};

const RunBadge = ({ status }: { status: RunStatus }) => (
  <Badge {...looks[status]} role="status" aria-label={`Run: ${sentence(status)}`}>
    {sentence(status)}
  </Badge>
);

/** Subscribes to a session. Changes within a frame are drawn together. */
export function useRun(session: RunSession): RunState {
  const [subscribe] = useState(() => (listener: () => void) => {
    let frame = 0;
    const unsubscribe = session.subscribe(() => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        listener();
      });
    });
    return () => {
      unsubscribe();
      cancelAnimationFrame(frame);
    };
  });
  return useSyncExternalStore(subscribe, session.snapshot);
}

export function RunConsole({ session, writing, prompt, onPrompt, blocked, onRun, link }: Props) {
  const { run, busy, starting, problem } = useRun(session);
  const isRunning = run !== null ? isOpen(run) : busy === "starting";
  return (
    <section aria-label="Run" className="flex min-h-0 flex-1 flex-col">
      {run && <Head session={session} run={run} isBusy={busy !== null} link={link} />}
      <div className="flex min-h-0 flex-1 flex-col gap-2 overflow-y-auto bg-page p-3">
        {busy === "recovering" && !run && <Skeleton lines={3} what="Loading the run" />}
        {busy === "starting" && (
          <>
            <Items session={session} writing={writing} graph={starting} run={null} />
            <p role="status" className="flex items-center gap-2 text-muted">
              <LoaderCircle className="text-blue" /> Starting the run.
            </p>
          </>
        )}
        {run && <Items session={session} writing={writing} graph={run.graph} run={run} />}
        {problem !== null && (
          <p role="alert" className="text-red wrap-anywhere">{`Error: ${problem}`}</p>
        )}
        {!run && busy === null && problem === null && (
          <p className="text-muted">
            Write a prompt and run the graph to see its agents work here.
          </p>
        )}
      </div>
      <Composer
        prompt={prompt}
        onPrompt={onPrompt}
        blocked={isRunning ? { message: "A run is in progress." } : blocked}
        onRun={onRun}
      />
    </section>
  );
}

type HeadProps = { session: RunSession; run: ShownRun; isBusy: boolean; link: Props["link"] };

function Head({ session, run, isBusy, link }: HeadProps) {
  const [isAsking, setAsking] = useState(false);
  const { status, logs } = run;
  const shown = shownStatus(status, logs);
  const canGoOn = shown === "failed" && status === "failed";
  const goOn = isInterrupted(status, logs) ? "Continue" : "Retry from failed node";
  return (
    <header className="flex flex-wrap items-center gap-2 border-b px-3 py-2">
      <RunBadge status={shown} />
      {link(run.runId)}
      <span className="flex-1" />
      {isOpen(run) && (
        <Button
          small
          look="danger"
          icon={<Square />}
          isBusy={isBusy}
          onClick={() => void session.cancel()}
        >
          Cancel
        </Button>
      )}
      {canGoOn && (
        <Button small icon={<RotateCcw />} isBusy={isBusy} onClick={() => void session.retry()}>
          {goOn}
        </Button>
      )}
      <Button
        small
        look="quiet"
        icon={<Trash2 />}
        aria-label="Clear"
        disabled={isOpen(run)}
        title={isOpen(run) ? "Cancel the run first." : "Clear"}
        onClick={() => setAsking(true)}
      />
      <Confirm
        title="Clear the run?"
        action="Clear"
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        perform={async () => session.clear()}
      >
        <p>Its thread stays: only this page forgets it.</p>
      </Confirm>
    </header>
  );
}

/** Number of items drawn at once. A button adds the same number of earlier items. */
const mostItems = 30;

type ItemsProps = Pick<Props, "session" | "writing"> & {
  graph: unknown;
  run: ShownRun | null;
};

function Items({ session, writing, graph, run }: ItemsProps) {
  const { logs = [], status = "running", asking = null, isLost = false } = run ?? {};
  const [pages, setPages] = useState(1);
  const items = itemsOf(graph, logs, status, writing);
  const written = [...writing.values()].flat().join("").length;
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = end.current?.parentElement;
    // Keeps the place of a user who has scrolled up.
    if (box && box.scrollHeight - box.scrollTop - box.clientHeight < 400)
      box.scrollTop = box.scrollHeight;
  }, [items.length, logs.length, status, written]);
  const asked = items.findLast(
    (item) => item.kind === "approval" && item.nodeId === asking?.nodeId,
  );
  const newest = Math.max(0, items.length - pages * mostItems);
  const from = asked ? Math.min(newest, items.indexOf(asked)) : newest;
  const keep = `answer-${run?.runId}-${asking?.question}`;
  const onAnswer = async (given: ApprovalInput) => {
    await session.answer(given);
    const { problem } = session.snapshot();
    if (problem !== null) throw new Error(problem);
    forgetKept(keep);
  };
  const ask = asking && { subject: asking.subject, keep, onAnswer };
  return (
    <>
      {from > 0 && (
        <Button small onClick={() => setPages(pages + 1)}>
          {`Show ${Math.min(from, mostItems)} earlier`}
        </Button>
      )}
      <div role="log" aria-label="Log of the run" className="flex flex-col gap-2">
        {items.slice(from).map((item, index) => (
          <RunItemView key={from + index} item={item} asked={item === asked ? ask : null} />
        ))}
        {isLost && <p className="text-amber">Previous paused run was lost (server restarted).</p>}
      </div>
      <div ref={end} />
    </>
  );
}

type ComposerProps = Pick<Props, "prompt" | "onPrompt" | "blocked" | "onRun">;

function Composer({ prompt, onPrompt, blocked, onRun }: ComposerProps) {
  const reason = blocked?.message ?? null;
  return (
    <form
      className="flex flex-col gap-2 border-t p-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (reason === null) onRun();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || isComposing(event))
          return;
        event.preventDefault();
        event.currentTarget.requestSubmit();
      }}
    >
      <TextArea
        label="Prompt"
        rows={2}
        value={prompt ?? ""}
        disabled={prompt === null}
        onChange={({ target }) => onPrompt(target.value)}
      />
      <div className="flex flex-wrap items-center gap-2">
        <Button
          look="solid"
          type="submit"
          icon={<Play />}
          disabled={reason !== null}
          aria-describedby={reason === null ? undefined : "why-not-run"}
        >
          Run
        </Button>
        {reason !== null && (
          <p id="why-not-run" className="min-w-0 flex-1 text-small text-muted wrap-anywhere">
            {reason} {blocked?.action}
          </p>
        )}
      </div>
    </form>
  );
}
