import type { HostChange, Observed, ObserveOptions } from "../host/host.ts";
import { takeBatch } from "../local/threads/observe.ts";
import { shownOf } from "../record/row.ts";
import { cursorOf, LogReader, positionOf } from "../record/reader.ts";
import { statusOf, type ThreadRef } from "../record/thread.ts";
import type { ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import type { Bell } from "./bell.ts";
import type { Activity } from "./activity.ts";
import { StoredLines } from "./stored-lines.ts";
import { isMissing, notedIn, type StoredThreads } from "./stored-threads.ts";

export type Following = {
  store: ThreadStore;
  threads: StoredThreads;
  activity: Activity;
  /** Rings at every change of a driven thread. */
  bell: Bell;
  closed: AbortSignal;
};

/** Poll interval in milliseconds: stores do not report expired leases as changes. */
const lookEveryMs = 300;
const mostOftenMs = 20;

/** @see Host.observe */
export async function* observe(
  { store, activity, bell, closed }: Following,
  ref: ThreadRef,
  cursor: string | undefined,
  { signal, events = true, until }: ObserveOptions,
): AsyncGenerator<Observed> {
  const from = positionOf(cursor);
  const data = new StoredLines(store, ref, "data");
  const info = new StoredLines(store, ref, "events");
  // The data log first: an event is in the debug log before its step is in the data log.
  const refresh = async (): Promise<void> => {
    await data.refresh();
    if (events) await info.refresh();
  };
  const stop = stopped(signal, closed);
  const watched = watch(store, bell, stop, ref);
  await watched.ready;
  try {
    await refresh();
    const reader = new LogReader({ data, ...(events && { info }), from });
    const to = until === "now" ? reader.newest() : until === undefined ? null : positionOf(until);
    let shown = "";
    while (!stop.signal.aborted) {
      const ring = bell.next();
      // Ask first: if the thread ends meanwhile, its log has the end.
      const info = await store.find(ref.threadId);
      const driver = activity.find(ref, info);
      try {
        await refresh();
      } catch (error) {
        if (!isMissing(error)) throw error;
        return yield { kind: "removed", cursor: cursorOf(reader.position) };
      }
      const batch = takeBatch(reader, to ?? undefined);
      for (const item of batch) yield item;
      if (batch.at(-1)?.kind === "end") return;
      if (batch.length > 0) continue;
      const { facts } = reader;
      if (facts.end || (to && !facts.broken)) return;
      const state = statusOf(facts, facts.broken ? null : driver, notedIn(info));
      const text = JSON.stringify(state);
      if (text !== shown) yield { kind: "status", state, cursor: cursorOf(reader.position) };
      if (state.status === "corrupt" || state.status === "moved") return;
      shown = text;
      await bell.within(ring, lookEveryMs);
    }
  } finally {
    stop.abort();
    await watched.ended;
  }
}

/** @see Host.changes */
export async function* changesOf(
  { store, threads, activity, bell, closed }: Following,
  signal: AbortSignal,
): AsyncGenerator<HostChange> {
  const shownBefore = new Map<string, string>();
  const dirty = new Map<string, ThreadRef>();
  let active: ThreadRef[] = [];
  let isRegistryChanged = false;
  const stop = stopped(signal, closed);
  const watched = watch(store, bell, stop, undefined, (change) => {
    if (change.kind === "registry") isRegistryChanged = true;
    if ("ref" in change) dirty.set(change.ref.threadId, change.ref);
  });
  await watched.ready;
  try {
    yield { kind: "ready" };
    while (!stop.signal.aborted) {
      const ring = bell.next();
      const toRead = new Map(dirty);
      dirty.clear();
      const before = active;
      active = await activity.active();
      for (const { hash, threadId } of [...before, ...active]) {
        toRead.set(threadId, { hash, threadId });
      }
      for (const [threadId, ref] of toRead) {
        const row = await threads.row(ref);
        const shown = row && shownOf(row);
        if (shown === shownBefore.get(threadId)) continue;
        if (shown === null) shownBefore.delete(threadId);
        else shownBefore.set(threadId, shown);
        yield row ? { kind: "thread", row } : { kind: "removed", threadId };
      }
      if (isRegistryChanged) yield { kind: "workflows" };
      isRegistryChanged = false;
      if (!stop.signal.aborted) await system.clock.sleep(mostOftenMs);
      await bell.within(ring, lookEveryMs);
    }
  } finally {
    stop.abort();
    await watched.ended;
  }
}

/** Returns a controller that is aborted with any of these signals. */
function stopped(...signals: (AbortSignal | undefined)[]): AbortController {
  const stop = new AbortController();
  for (const signal of signals) {
    if (signal?.aborted) stop.abort();
    signal?.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
  }
  return stop;
}

type OnChange = (
  change: Awaited<ReturnType<ReturnType<ThreadStore["watch"]>["next"]>>["value"],
) => void;

/** Rings the bell at every change of the store until `stop` is aborted. */
function watch(
  store: ThreadStore,
  bell: Bell,
  { signal }: AbortController,
  ref?: ThreadRef,
  onChange?: OnChange,
): { ready: Promise<void>; ended: Promise<void> } {
  const ready = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => bell.ring());
  const ended = (async () => {
    try {
      for await (const change of store.watch(signal, ref)) {
        onChange?.(change);
        ready.resolve();
        bell.ring();
      }
    } finally {
      ready.resolve();
    }
  })().catch(() => undefined);
  return { ready: ready.promise, ended };
}
