import { WAIT } from "../../contract/contract.ts";
import type { Observed, ObserveOptions } from "../../host/host.ts";
import { FileReader } from "../../disk/reader.ts";
import {
  cursorOf,
  type LogItem,
  type LogReader,
  type Mark,
  type Position,
  positionOf,
} from "../../record/reader.ts";
import { diskError, systemCode } from "../../disk/disk-error.ts";
import { notedOf } from "../../disk/threads.ts";
import { dataPath, infoPath, type Root } from "../../disk/paths.ts";
import { system } from "../../system/system.ts";
import { endedStatus, statusOf, type ThreadRef } from "../../record/thread.ts";
import type { Drivers } from "../workers/live.ts";
import { notFound } from "../../record/errors.ts";

const lookEveryMs = 300;
// Limits of a batch. Files are closed while a slow observer handles a batch.
const batchItems = 256;
const batchBytes = 64 * 1024;

const mostMarks = 1_000;

/** Positions where observers stopped, so that an observer resuming at a cursor reads only new records. */
export class Marks {
  readonly #marks = new Map<string, Mark>();

  /** Removes and returns the mark of a position. */
  take({ threadId }: ThreadRef, { data }: Position): Mark | undefined {
    const key = `${threadId} ${data}`;
    const mark = this.#marks.get(key);
    this.#marks.delete(key);
    return mark;
  }

  set({ threadId }: ThreadRef, mark: Mark | null): void {
    if (mark === null) return;
    this.#marks.set(`${threadId} ${mark.data}`, mark);
    const [oldest] = this.#marks.size > mostMarks ? this.#marks.keys() : [];
    if (oldest !== undefined) this.#marks.delete(oldest);
  }
}

/** @see Host.observe */
export async function* observe(
  root: Root,
  ref: ThreadRef,
  { live, marks }: { live: Drivers; marks: Marks },
  cursor: string | undefined,
  { signal, events = true, until }: ObserveOptions,
): AsyncGenerator<Observed> {
  const { hash, threadId } = ref;
  const from = positionOf(cursor);
  const mark = marks.take(ref, from);
  const reader = new FileReader({
    data: dataPath(root, hash, threadId),
    ...(events && { info: infoPath(root, hash, threadId) }),
    ...{ from, mark },
  });
  if (!reader.exists) throw notFound(threadId);
  const to = until === "now" ? reader.newest() : until === undefined ? null : positionOf(until);
  const watch = reader.watch(signal);
  let shown = "";
  let changedAt = system.clock.elapsed();
  try {
    while (!signal?.aborted) {
      const batch = takeBatch(reader, to ?? undefined);
      for (const item of batch) yield item;
      if (batch.at(-1)?.kind === "end") return;
      if (batch.length > 0) {
        changedAt = system.clock.elapsed();
        continue;
      }
      const { facts } = reader;
      if (facts.end || (to && !facts.broken)) return;
      const at = cursorOf(reader.position);
      const driver = facts.broken
        ? null
        : await live.find(ref, changedAt, facts.last?.role === WAIT);
      if (!reader.exists) return yield { kind: "removed", cursor: at };
      // The worker may have written more records before it answered: the answer then describes a longer log.
      if (reader.isBehind) continue;
      const state = statusOf(facts, driver, notedOf(root, ref));
      const text = JSON.stringify(state);
      if (text !== shown) yield { kind: "status", state, cursor: at };
      if (state.status === "corrupt" || state.status === "moved") return;
      shown = text;
      await watch.changed(lookEveryMs);
    }
  } catch (error) {
    if (systemCode(error) === null) throw error;
    throw diskError(error, "read", dataPath(root, hash, threadId));
  } finally {
    marks.set(ref, reader.mark);
    watch.close();
  }
}

/**
 * Returns the next items, up to a position. Limits their number and size, so that a slow observer needs little memory.
 */
export function takeBatch(reader: LogReader, to?: Position): Observed[] {
  const batch: Observed[] = [];
  const from = reader.position.data + reader.position.info;
  for (const item of reader.read(to)) {
    batch.push(observed(item));
    const bytes = item.position.data + item.position.info - from;
    if (batch.length >= batchItems || bytes >= batchBytes) break;
  }
  return batch;
}

function observed({ position, ...item }: LogItem): Observed {
  const cursor = cursorOf(position);
  return item.kind === "end"
    ? { ...item, state: endedStatus(item.end), cursor }
    : { ...item, cursor };
}
