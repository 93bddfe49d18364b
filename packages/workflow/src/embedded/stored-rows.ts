import type { Step } from "../contract/contract.ts";
import { isRecord } from "../contract/show.ts";
import { eventsIn } from "../local/threads/events.ts";
import { LogFold } from "../record/fold.ts";
import { journalState } from "../record/journal.ts";
import { rowAt, rowFrom, unknownRow } from "../record/row.ts";
import { SearchText } from "../record/search.ts";
import { type LiveFacts, statusOf, type ThreadRef, type ThreadRow } from "../record/thread.ts";
import type { WorkFigures } from "../record/work-figures.ts";
import { WorkFold } from "../record/work.ts";
import type { ThreadInfo, ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import type { Activity } from "./activity.ts";
import { isMissing, notedIn } from "./noted.ts";
import { type StoredLogs, storedLogs } from "./stored-lines.ts";

/** A thread in a list: its row, the figures of its work, and its searchable text. */
export type IndexedThread = { row: ThreadRow; figures: WorkFigures; text: string };

/** The steps of a thread, and the state of its log. */
export type FoldedLog = { facts: LogFold; steps: Step[] };

/** The stored facts of a resting thread. Rows are as of the thread's last record. */
type Kept = IndexedThread & Pick<ThreadInfo, "createdAt" | "paused" | "movedTo"> & { format: 1 };

/** Limits of the logs kept in memory: number of threads, total size in bytes, and size of a thread's logs in bytes. */
const [mostLogs, mostBytes, longestLog] = [200, 64 * 1024 * 1024, 8 * 1024 * 1024];
/** Number of threads whose logs are read concurrently. */
const atOnce = 8;

/** Computes the rows of a store's threads. Rows of resting threads come from the store's index if it has them. */
export class StoredRows {
  readonly #store: ThreadStore;
  readonly #activity: Activity;
  /** Logs of threads that run, least recently used first. */
  readonly #logs = new Map<string, { createdAt: number; logs: StoredLogs }>();

  constructor(store: ThreadStore, activity: Activity) {
    this.#store = store;
    this.#activity = activity;
  }

  /** Returns a thread for a list; null when it is missing. */
  async one(info: ThreadInfo): Promise<IndexedThread | null> {
    return (await this.many([info])).get(info.threadId) ?? null;
  }

  /** Returns threads for a list by id. Leaves out missing threads. */
  async many(infos: readonly ThreadInfo[]): Promise<Map<string, IndexedThread>> {
    const { index } = this.#store;
    const resting = infos.filter(rests);
    const entries = index && resting.length > 0 ? await index.entries(resting) : null;
    const read = async (info: ThreadInfo): Promise<IndexedThread | null> => {
      const entry = entries?.get(info.threadId);
      const kept = entry?.records === info.records ? keptIn(entry.json, info) : null;
      return kept ?? (await this.#compute(info));
    };
    const found = new Map<string, IndexedThread>();
    for (let n = 0; n < infos.length; n += atOnce) {
      const some = infos.slice(n, n + atOnce);
      const threads = await Promise.all(some.map(read));
      const now = system.clock.now();
      for (const thread of threads) {
        if (thread) found.set(thread.row.threadId, { ...thread, row: rowAt(thread.row, now) });
      }
    }
    return found;
  }

  /** Stores the entry of a thread in the index, if the thread rests. */
  async keep(threadId: string): Promise<void> {
    const info = await this.#store.find(threadId);
    if (info && rests(info)) await this.#compute(info);
  }

  async #compute(info: ThreadInfo): Promise<IndexedThread | null> {
    const ref = { hash: info.hash, threadId: info.threadId };
    try {
      // Read the driver first: if the thread ends in the meantime, its log has the end.
      const driver = this.#activity.find(ref, info);
      const logs = this.logs(info);
      await Promise.all([logs.data.refresh(), logs.journal.refresh()]);
      const { facts, steps } = folded(ref, logs);
      if (!facts.start) return unknownThread(ref);
      const thread = await this.#read(info, { facts, steps }, logs, driver);
      const isWhole = facts.lines === info.records && facts.broken === null;
      if (isWhole && rests(info)) await this.#keep(info, thread);
      return thread;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async #read(
    info: ThreadInfo,
    { facts, steps: all }: FoldedLog,
    logs: StoredLogs,
    driver: LiveFacts | null,
  ): Promise<IndexedThread> {
    const { end, last, steps, waitedMs } = facts;
    const start = facts.start as NonNullable<LogFold["start"]>;
    const fold = new WorkFold();
    const text = new SearchText();
    for (const step of all) {
      fold.step(step, start);
      text.add(step);
    }
    const work = fold.of(journalState(logs.journal), { end, isRunning: driver !== null });
    if (driver?.status === "running" && driver.role === undefined) {
      await logs.events.refresh();
      driver.role = runningRole(logs, steps + 1);
    }
    const noted = notedIn(info);
    const log = { start, end, last, steps, waitedMs, work };
    const by = { away: noted.movedTo, driver };
    const row = rowFrom(info, log, statusOf(facts, driver, noted), by);
    const { roles, models } = work;
    return { row, figures: { roles, models }, text: text.of(start, end) };
  }

  async #keep(info: ThreadInfo, thread: IndexedThread): Promise<void> {
    const { createdAt, paused, movedTo, records } = info;
    const kept: Kept = { ...thread, createdAt, paused, movedTo, format: 1 };
    // A failed write to the index must not fail the read.
    await this.#store.index
      ?.keep(info, { records, json: JSON.stringify(kept) })
      .catch(() => undefined);
  }

  /** Returns the logs of a thread, possibly already read in part; `refresh` reads the new lines. */
  logs(info: ThreadInfo): StoredLogs {
    const { threadId, createdAt } = info;
    const known = this.#logs.get(threadId);
    this.#logs.delete(threadId);
    const isKnown = known?.createdAt === createdAt && lengthOf(known.logs) <= longestLog;
    const logs = isKnown ? known.logs : storedLogs(this.#store, info);
    if (info.state.kind !== "running") return logs;
    this.#logs.set(threadId, { createdAt, logs });
    let bytes = 0;
    for (const one of this.#logs.values()) bytes += lengthOf(one.logs);
    for (const [oldest, one] of this.#logs) {
      if (this.#logs.size <= mostLogs && bytes <= mostBytes) break;
      bytes -= lengthOf(one.logs);
      this.#logs.delete(oldest);
    }
    return logs;
  }
}

/** Returns whether a thread stays unchanged until another process claims it. */
const rests = ({ state, owner }: ThreadInfo): boolean =>
  state.kind === "ended" || (state.kind === "waiting" && owner === null);

const lengthOf = ({ data, journal, events }: StoredLogs): number =>
  data.end() + journal.end() + events.end();

/** Folds the lines of a data log that have been read. */
export function folded(
  { hash, threadId }: ThreadRef,
  { data }: Pick<StoredLogs, "data">,
): FoldedLog {
  const facts = new LogFold({ hash, threadId });
  const steps: Step[] = [];
  for (const line of data.forward()) {
    const record = facts.take(line);
    if (record === null) break;
    if (record === facts.last) steps.push(facts.last);
  }
  return { facts, steps };
}

/** Returns the role that runs for the step with this number, by the debug log; null if unknown. */
function runningRole({ events }: StoredLogs, step: number): string | null {
  for (const { record } of eventsIn(events.backward())) {
    const { step: next = 0, stepID, type, payload } = record;
    if (next < step) return null;
    if (type === "attempt_start" && isRecord(payload) && typeof payload.role === "string") {
      return payload.role;
    }
    if (typeof stepID === "string") return stepID;
  }
  return null;
}

const unknownThread = (ref: ThreadRef): IndexedThread => ({
  row: unknownRow(ref),
  figures: { roles: [], models: [] },
  text: ref.threadId.toLowerCase(),
});

/** Parses a stored entry; null for an entry of another format, thread or state. */
function keptIn(json: string, info: ThreadInfo): IndexedThread | null {
  try {
    const { row, figures, text, ...of } = JSON.parse(json) as Kept;
    const isFresh =
      of.format === 1 &&
      of.createdAt === info.createdAt &&
      of.paused === info.paused &&
      of.movedTo === info.movedTo &&
      typeof row === "object" &&
      typeof figures === "object" &&
      typeof text === "string";
    return isFresh ? { row, figures, text } : null;
  } catch {
    return null;
  }
}
