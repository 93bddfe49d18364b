import { useQuery } from "@tanstack/react-query";
import type { Status } from "@uncaged/workflow-server/api-types";
import { X } from "lucide-react";
import { useEffect, useEffectEvent, useMemo } from "react";
import { ago, useNow } from "../../lib/format.ts";
import { ApiError } from "../../lib/request.ts";
import { isEnded, threadQuery } from "../../lib/threads.ts";
import { IconButton } from "../../ui/icon-button.tsx";
import { StatusIcon } from "../status/status.tsx";
import { isRecord, readJson } from "../../lib/json.ts";
import { readStored, store, useStored } from "../../lib/stored.ts";

type Props = {
  sessions: readonly Session[];
  selected: string | null;
  status: Status | null;
  onSelect: (runID: string) => void;
  onForget: (runID: string) => void;
};

/** The editor's runs as tabs. The canvas shows the selected run. */
export function RunTabs(props: Props) {
  return (
    <div className="flex min-w-0 items-center gap-1 overflow-x-auto" role="group" aria-label="Runs">
      {props.sessions.map((session) => (
        <RunTab key={session.runID} {...props} session={session} />
      ))}
    </div>
  );
}

type TabProps = Props & { session: Session };

const readEveryMs = 2_000;

function RunTab({ session, selected, status: known, onSelect, onForget }: TabProps) {
  const { runID, label, startedAt } = session;
  const now = useNow(10_000);
  const isSelected = runID === selected;
  const { data: thread, error } = useQuery({
    ...threadQuery(runID),
    refetchInterval: ({ state }) =>
      state.data && isEnded(state.data.status) ? false : readEveryMs,
  });
  const isGone = error instanceof ApiError && error.status === 404;
  const forget = useEffectEvent(() => onForget(runID));
  useEffect(() => {
    if (isGone) forget();
  }, [isGone]);
  const status = (isSelected ? known : null) ?? thread?.status ?? "running";
  return (
    <span
      className={`inline-flex flex-none items-center rounded-md border ${isSelected ? "border-accent bg-surface" : "border-line bg-sunken"}`}
    >
      <button
        type="button"
        aria-pressed={isSelected}
        className="inline-flex min-h-6 cursor-pointer items-center gap-1 pr-1 pl-2 text-small max-md:min-h-10"
        onClick={() => onSelect(runID)}
      >
        <StatusIcon status={status} />
        <span className="max-w-28 truncate font-semibold">{label}</span>
        <span className="text-muted">{status}</span>
        <span className="text-faint">{ago(startedAt, now)}</span>
      </button>
      <IconButton
        icon={<X />}
        label={`Forget ${label}`}
        title="Remove it from this bar; its thread stays"
        onClick={() => onForget(runID)}
      />
    </span>
  );
}

export type Session = { runID: string; label: string; startedAt: number };

type SessionList = { all: readonly Session[]; selected: string | null };

/** Time for which the bar lists a run, in milliseconds. The server keeps the thread longer. */
const keptMs = 24 * 60 * 60 * 1_000;
const most = 12;

/** Reads stored sessions. Skips expired and invalid sessions. */
export function readSessions(text: string | null, now: number): SessionList {
  const value = text === null ? null : readJson(text).value;
  const { all, selected } = isRecord(value) ? value : {};
  const sessions = (Array.isArray(all) ? all : []).filter(
    (one): one is Session =>
      isRecord(one) &&
      typeof one.runID === "string" &&
      typeof one.label === "string" &&
      typeof one.startedAt === "number" &&
      now - one.startedAt < keptMs,
  );
  const isThere = sessions.some(({ runID }) => runID === selected);
  return {
    all: sessions,
    selected: isThere ? (selected as string) : (sessions.at(-1)?.runID ?? null),
  };
}

export const withSession = ({ all }: SessionList, session: Session): SessionList => ({
  all: [...all.filter(({ runID }) => runID !== session.runID), session].slice(-most),
  selected: session.runID,
});

export function withoutSession({ all, selected }: SessionList, runID: string): SessionList {
  const left = all.filter((one) => one.runID !== runID);
  return { all: left, selected: selected === runID ? (left.at(-1)?.runID ?? null) : selected };
}

/** The sessions of an editor. They survive a reload, and tabs share them. */
export function useSessions(key: string) {
  const text = useStored(key);
  const list = useMemo(() => readSessions(text, Date.now()), [text]);
  const set = (change: (before: SessionList) => SessionList) =>
    void store(key, JSON.stringify(change(readSessions(readStored(key), Date.now()))));
  return { ...list, set };
}
