import { useCallback, useMemo, useSyncExternalStore } from "react";
import { isRecord, readJson } from "../../lib/json.ts";

export type Session = { runID: string; label: string; startedAt: number };

export type SessionList = { all: readonly Session[]; selected: string | null };

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

type Texts = Pick<Storage, "getItem" | "setItem">;

// A disabled storage throws on use, not on import.
const browserStorage: Texts = {
  getItem: (key) => localStorage.getItem(key),
  setItem: (key, text) => localStorage.setItem(key, text),
};

/** Texts that survive a reload. If the storage is full or disabled, keeps the texts in memory. */
export class KeptTexts {
  readonly #storage: Texts;
  readonly #unkept = new Map<string, string>();

  constructor(storage: Texts) {
    this.#storage = storage;
  }

  read(key: string): string | null {
    const unkept = this.#unkept.get(key);
    if (unkept !== undefined) return unkept;
    try {
      return this.#storage.getItem(key);
    } catch {
      return null;
    }
  }

  write(key: string, text: string): void {
    try {
      this.#storage.setItem(key, text);
      this.#unkept.delete(key);
    } catch {
      this.#unkept.set(key, text);
    }
  }
}

const kept = new KeptTexts(browserStorage);

const changed = "uncaged-sessions";

/** The sessions of an editor. They survive a reload, and tabs share them. */
export function useSessions(key: string) {
  const subscribe = useCallback((listener: () => void) => {
    addEventListener("storage", listener);
    addEventListener(changed, listener);
    return () => {
      removeEventListener("storage", listener);
      removeEventListener(changed, listener);
    };
  }, []);
  const text = useSyncExternalStore(subscribe, () => kept.read(key));
  const list = useMemo(() => readSessions(text, Date.now()), [text]);
  const set = useCallback(
    (change: (before: SessionList) => SessionList) => {
      const before = readSessions(kept.read(key), Date.now());
      kept.write(key, JSON.stringify(change(before)));
      dispatchEvent(new Event(changed));
    },
    [key],
  );
  return { ...list, set };
}
