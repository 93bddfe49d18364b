import { useQuery } from "@tanstack/react-query";
import type { Status } from "@uncaged/workflow-server/api-types";
import { X } from "lucide-react";
import { useEffect, useEffectEvent } from "react";
import { ago, useNow } from "../../lib/format.ts";
import { ApiError } from "../../lib/request.ts";
import { isEnded, threadQuery } from "../../lib/threads.ts";
import { Button } from "../../ui/button.tsx";
import { StatusIcon } from "../status/status.tsx";
import type { Session } from "./sessions.ts";

type Props = {
  sessions: readonly Session[];
  selected: string | null;
  status: Status | null;
  onSelect: (runID: string) => void;
  onForget: (runID: string) => void;
};

/** The editor's runs as tabs. The canvas shows the selected run. */
export function RunTabs({ sessions, selected, status, onSelect, onForget }: Props) {
  const now = useNow(10_000, sessions.length > 0);
  if (sessions.length === 0) return null;
  return (
    <div className="flex min-w-0 items-center gap-1 overflow-x-auto" role="group" aria-label="Runs">
      {sessions.map((session) => (
        <RunTab
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

type TabProps = {
  session: Session;
  isSelected: boolean;
  known: Status | null;
  now: number;
  onSelect: () => void;
  onForget: () => void;
};

const readEveryMs = 2_000;

function RunTab({ session, isSelected, known, now, onSelect, onForget }: TabProps) {
  const { data: thread, error } = useQuery({
    ...threadQuery(session.runID),
    refetchInterval: ({ state }) =>
      state.data && isEnded(state.data.status) ? false : readEveryMs,
  });
  const isGone = error instanceof ApiError && error.status === 404;
  const forget = useEffectEvent(onForget);
  useEffect(() => {
    if (isGone) forget();
  }, [isGone]);
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
        <StatusIcon status={status} />
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
