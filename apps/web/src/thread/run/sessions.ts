import { useMemo } from "react";
import { isRecord, readJson } from "../../lib/json.ts";
import { readStored, store, useStored } from "../../lib/stored.ts";

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
