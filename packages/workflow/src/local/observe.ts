import { LogReader, type LogItem } from "./log-reader.ts";
import { newestPosition } from "./log-place.ts";
import { beginning, parsePosition, showPosition } from "./position.ts";
import type { Observed, ObserveOptions } from "../host/host.ts";
import type { Root } from "../storage/paths.ts";
import { endedStatus, statusOf } from "../thread/status.ts";
import { notFound } from "../thread/find.ts";
import type { ThreadRef, ThreadStatus } from "../thread/thread.ts";
import type { LiveWorkers } from "./live.ts";

const lookEveryMs = 300;
/** How much is taken in before an observer, who may be slow, gets it: no file is open while it waits. */
const batchItems = 256;
const batchBytes = 64 * 1024;

/** @see Host.observe */
export async function* observe(
  root: Root,
  ref: ThreadRef,
  live: LiveWorkers,
  cursor: string | undefined,
  { signal, events = true, until }: ObserveOptions,
): AsyncGenerator<Observed> {
  const from = cursor === undefined ? beginning : parsePosition(cursor);
  const reader = new LogReader(root, ref, from, { events });
  if (!reader.exists) throw notFound(ref.threadId);
  const to = until === "now" ? newestPosition(root, ref) : until && parsePosition(until);
  const wake = new Wake(signal);
  const watch = to ? null : reader.watch(wake.ring);
  let shown = "";
  let changedAt = performance.now();
  try {
    while (!signal?.aborted) {
      wake.reset();
      watch?.ensure();
      const batch = take(reader, to || undefined);
      for (const item of batch) yield item;
      if (batch.at(-1)?.kind === "end") return;
      if (batch.length > 0) {
        changedAt = performance.now();
        continue;
      }
      if (reader.facts.end || (to && !reader.facts.broken)) return;
      const seen = showPosition(reader.position);
      const state = reader.exists ? await statusNow(reader, ref, live, changedAt) : null;
      // The worker may have written and gone before it was asked: its answer is then of a longer log.
      if (state && reader.isBehind()) continue;
      if (!state) return yield { kind: "removed", cursor: seen };
      const text = JSON.stringify(state);
      if (text !== shown) yield { kind: "status", state, cursor: seen };
      if (state.status === "corrupt") return;
      shown = text;
      await wake.rung(lookEveryMs);
    }
  } finally {
    watch?.close();
    wake.close();
  }
}

function take(reader: LogReader, to?: { data: number; info: number }): Observed[] {
  const batch: Observed[] = [];
  const from = reader.position.data + reader.position.info;
  for (const item of reader.read(to)) {
    batch.push(observed(item));
    const bytes = item.position.data + item.position.info - from;
    if (batch.length >= batchItems || bytes >= batchBytes) break;
  }
  return batch;
}

function observed(item: LogItem): Observed {
  const cursor = showPosition(item.position);
  switch (item.kind) {
    case "start":
      return { kind: "start", start: item.start, cursor };
    case "step":
      return { kind: "step", number: item.number, step: item.step, cursor };
    case "event":
      return { kind: "event", event: item.event, cursor };
    case "end":
      return { kind: "end", end: item.end, state: endedStatus(item.end), cursor };
  }
}

async function statusNow(
  { facts }: LogReader,
  ref: ThreadRef,
  live: LiveWorkers,
  since: number,
): Promise<ThreadStatus> {
  return statusOf(facts, facts.broken ? null : await live.find(ref, since));
}

/** Waits until it is rung, a time has passed, or a signal is aborted. */
class Wake {
  readonly #signal: AbortSignal | undefined;
  #ring = Promise.withResolvers<void>();
  readonly ring = (): void => this.#ring.resolve();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener("abort", this.ring);
  }

  reset(): void {
    this.#ring = Promise.withResolvers();
  }

  async rung(atMostMs: number): Promise<void> {
    if (this.#signal?.aborted) return;
    const timer = setTimeout(this.ring, atMostMs);
    await this.#ring.promise;
    clearTimeout(timer);
  }

  close(): void {
    this.#signal?.removeEventListener("abort", this.ring);
  }
}
