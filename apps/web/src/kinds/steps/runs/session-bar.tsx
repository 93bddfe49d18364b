import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Status, Thread } from "@uncaged/workflow-server/api-types";
import { ExternalLink, OctagonX, Pause, Play, X } from "lucide-react";
import { useRef } from "react";
import { ago, useNow } from "../../../lib/format.ts";
import { isEnded, isLive, killThread, threadQuery, useControl } from "../../../lib/threads.ts";
import { Button, useKeptFocus } from "../../../ui/button.tsx";
import { FailureNotice, PausingNote, Pill } from "../../../ui/states.tsx";
import type { Session } from "./sessions.ts";

type Props = {
  sessions: readonly Session[];
  selected: string | null;
  /** Status of the selected run, from its stream. */
  status: Status | null;
  onSelect: (runID: string) => void;
  onForget: (runID: string) => void;
};

/** The editor's runs as tabs. The canvas shows the selected run. */
export function SessionBar({ sessions, selected, status, onSelect, onForget }: Props) {
  const now = useNow(10_000, sessions.length > 0);
  if (sessions.length === 0) return null;
  return (
    <div className="flex min-w-0 items-center gap-1 overflow-x-auto" role="group" aria-label="Runs">
      {sessions.map((session) => (
        <SessionTab
          key={session.runID}
          session={session}
          isSelected={session.runID === selected}
          known={session.runID === selected ? status : null}
          now={now}
          onSelect={() => onSelect(session.runID)}
          onForget={() => onForget(session.runID)}
        />
      ))}
    </div>
  );
}

const dots: Record<Status, string> = {
  running: "bg-blue",
  waiting: "bg-amber",
  paused: "bg-violet",
  completed: "bg-green",
  failed: "bg-red",
  killed: "bg-gray",
  interrupted: "bg-gray",
  moved: "bg-gray",
  corrupt: "bg-red",
};

type TabProps = {
  session: Session;
  isSelected: boolean;
  /** The run's status, if a stream reports it. */
  known: Status | null;
  now: number;
  onSelect: () => void;
  onForget: () => void;
};

/** Poll interval for runs without a stream, in milliseconds. */
const readEveryMs = 2_000;

function SessionTab({ session, isSelected, known, now, onSelect, onForget }: TabProps) {
  const { data: thread } = useQuery({
    ...threadQuery(session.runID),
    refetchInterval: ({ state }) =>
      state.data && isEnded(state.data.status) ? false : readEveryMs,
  });
  const status = known ?? thread?.status ?? "running";
  return (
    <span
      className={`inline-flex flex-none items-center rounded-md border ${isSelected ? "border-accent bg-surface" : "border-line bg-sunken"}`}
    >
      <button
        type="button"
        aria-pressed={isSelected}
        className="inline-flex min-h-6 cursor-pointer items-center gap-1 pr-1 pl-2 text-small"
        onClick={onSelect}
      >
        <span aria-hidden className={`size-2 rounded-full ${dots[status]}`} />
        <span className="max-w-28 truncate font-semibold">{session.label}</span>
        <span className="text-muted">{status}</span>
        <span className="text-faint">{ago(session.startedAt, now)}</span>
      </button>
      <Button
        small
        look="quiet"
        icon={<X />}
        aria-label={`Forget ${session.label}`}
        title="Remove it from this bar; its thread stays"
        onClick={onForget}
      />
    </span>
  );
}

type ControlsProps = { thread: Thread; status: Status; isPausing: boolean };

export function RunControls({ thread, status, isPausing: pauses }: ControlsProps) {
  const { threadId } = thread;
  const { work, isPausing, pause, resume } = useControl(threadId, status, pauses);
  const group = useRef<HTMLDivElement>(null);
  useKeptFocus(group);
  const canResume = isPausing || status === "paused" || status === "interrupted";
  return (
    <div className="flex flex-col gap-2">
      <div ref={group} className="flex flex-wrap items-center gap-2">
        {isPausing ? <PausingNote /> : <Pill>{status}</Pill>}
        {status === "running" && !isPausing && (
          <Button small icon={<Pause />} isBusy={work.isPending} onClick={pause}>
            Pause
          </Button>
        )}
        {canResume && (
          <Button small look="solid" icon={<Play />} isBusy={work.isPending} onClick={resume}>
            Resume
          </Button>
        )}
        {(isLive(status) || status === "waiting" || status === "interrupted") && (
          <Button
            small
            look="danger"
            icon={<OctagonX />}
            isBusy={work.isPending}
            onClick={() => work.mutate(() => killThread(threadId))}
          >
            Cancel
          </Button>
        )}
        <Link
          to="/threads/$id"
          params={{ id: threadId }}
          className="ml-auto inline-flex items-center gap-1 text-small"
        >
          Its thread <ExternalLink className="size-2" />
        </Link>
      </div>
      {work.error && <FailureNotice error={work.error} />}
    </div>
  );
}
