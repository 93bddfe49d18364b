import { system } from "../system/system.ts";
import type { Attempt } from "../record/attempt.ts";
import type { EventRecord } from "../contract/event.ts";
import { isWorkflowError } from "../contract/error.ts";
import { isThreadId } from "../contract/names.ts";
import type { Step } from "../contract/contract.ts";
import type { LogLine, LogOptions, ThreadFilter, ThreadPage, ThreadQuery } from "../host/host.ts";
import {
  attemptsIn,
  type CopiedEvents,
  collectEvents,
  copiedAttempts,
  eventsIn,
  wantedOf,
} from "../local/threads/events.ts";
import { HourSums, type ThreadSummary } from "../record/figures.ts";
import { isLimited, isSelected, limitsOf, matches, type Selector } from "../record/filter.ts";
import { LogFold } from "../record/fold.ts";
import { journalState } from "../record/journal.ts";
import { LogReader } from "../record/reader.ts";
import type { StartRecord } from "../record/record.ts";
import { rowAt, rowFrom, unknownRow } from "../record/row.ts";
import { hasWords, SearchText, wordsOf } from "../record/search.ts";
import { pickThread } from "../record/selection.ts";
import {
  type ForkFrom,
  isMoving,
  type Noted,
  statusOf,
  type ThreadRef,
  type ThreadRow,
  type ThreadView,
} from "../record/thread.ts";
import { headlessView, viewOf } from "../record/view.ts";
import type { WorkFigures } from "../record/work-figures.ts";
import { WorkFold } from "../record/work.ts";
import type { ThreadInfo, ThreadStore } from "../store/store.ts";
import type { Activity } from "./activity.ts";
import { StoredLines } from "./stored-lines.ts";
import { valueNotFound } from "../host/errors.ts";
import { notFound } from "../record/errors.ts";

/** The threads of a store, in the form of a host. */
export class StoredThreads {
  readonly #store: ThreadStore;
  readonly #activity: Activity;

  constructor(store: ThreadStore, activity: Activity) {
    this.#store = store;
    this.#activity = activity;
  }

  /** Returns all threads, newest first. */
  all(hash?: string): Promise<ThreadInfo[]> {
    return this.#store.list({
      limit: Number.MAX_SAFE_INTEGER,
      ...(hash !== undefined && { hash }),
    });
  }

  /**
   * Finds the thread that a text selects.
   * @throws WorkflowError the errors of `pickThread`.
   */
  async find(text: string): Promise<ThreadRef> {
    const found = isThreadId(text) ? await this.#store.find(text) : null;
    if (!found && isThreadId(text)) throw notFound(text);
    const { hash, threadId } = found ?? pickThread(await this.all(), text);
    return { hash, threadId };
  }

  /** Returns a thread's start record; null when it is missing or unreadable. */
  async start(ref: ThreadRef): Promise<StartRecord | null> {
    const { facts } = await this.#fold(ref);
    return facts.start;
  }

  /** @throws WorkflowError `THREAD_NOT_FOUND` */
  async read(ref: ThreadRef): Promise<ThreadView> {
    const { facts, steps, driver, noted } = await this.#driven(ref);
    const { start, broken, end } = facts;
    const now = system.clock.now();
    if (start) return viewOf(ref, { start, steps, broken, end }, driver, noted, now);
    return headlessView(ref, broken ?? { line: 1, offset: 0, reason: "no start record" });
  }

  /** Returns the row of a thread; null when it is missing. `info`: the thread, from a list. */
  async row(ref: ThreadRef, info?: ThreadInfo): Promise<ThreadRow | null> {
    return (await this.indexed(ref, info))?.row ?? null;
  }

  /** Returns the row of a thread, and its figures; null when it is missing. */
  async indexed(
    { hash, threadId }: ThreadRef,
    info?: ThreadInfo,
  ): Promise<{ row: ThreadRow; figures: WorkFigures } | null> {
    const ref = { hash, threadId };
    try {
      const { facts, steps: all, driver, noted } = await this.#driven(ref, info);
      const { start, end, last, steps, waitedMs } = facts;
      if (!start) return { row: unknownRow(ref), figures: { roles: [], models: [] } };
      const journal = new StoredLines(this.#store, ref, "journal");
      await journal.refresh();
      const fold = new WorkFold();
      for (const step of all) fold.step(step, start);
      const work = fold.of(journalState(journal), { end, isRunning: driver !== null });
      const log = { start, end, last, steps, waitedMs, work };
      if (driver?.status === "running" && driver.role === undefined) {
        driver.role = await this.#runningRole(ref, steps + 1);
      }
      const by = { away: noted.movedTo, driver };
      const row = rowFrom(ref, log, statusOf(facts, driver, noted), by);
      const { roles, models } = work;
      return { row: rowAt(row, system.clock.now()), figures: { roles, models } };
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  /** `selectors` match the query's workflow. */
  async page(query: ThreadQuery, selectors: readonly Selector[] | null): Promise<ThreadPage> {
    const { limit = 20, offset = 0, before, status, search = "" } = query;
    const all = await this.all();
    const rows: ThreadRow[] = [];
    let count = 0;
    const older = all.filter(({ threadId }) => before === undefined || threadId < before);
    for await (const row of this.#rows(older, query, selectors)) {
      count += 1;
      if (count > offset && rows.length <= limit) rows.push(row);
      if (rows.length > limit) break;
    }
    const isMore = rows.length > limit;
    const shown = rows.slice(0, limit);
    const isCounted =
      status === undefined && !selectors && search.trim() === "" && !isLimited(limitsOf(query));
    return {
      rows: shown,
      total: isCounted ? all.length : null,
      next: isMore ? (shown.at(-1)?.threadId ?? null) : null,
    };
  }

  /** `selectors` match the query's workflow. @see Host.summary */
  async summary(
    query: ThreadFilter,
    selectors: readonly Selector[] | null,
  ): Promise<ThreadSummary> {
    const sums = new HourSums();
    for await (const row of this.#rows(await this.all(), query, selectors)) {
      sums.add({ ...row, cost: row.spent.cost });
    }
    return sums.summary;
  }

  /** Returns the rows of the threads that match a filter. */
  async *#rows(
    all: readonly ThreadInfo[],
    { status, search = "", ...limits }: ThreadFilter,
    selectors: readonly Selector[] | null,
  ): AsyncGenerator<ThreadRow> {
    const statuses = status === undefined ? null : new Set([status].flat());
    const filter = { statuses, selectors, limits: limitsOf(limits) };
    const words = wordsOf(search);
    for (const info of all) {
      if (!isSelected({ ...info, workflow: info.name }, selectors)) continue;
      if (words.length > 0 && !hasWords(await this.#searchText(info), words)) continue;
      const row = await this.row(info);
      if (row && matches(row, filter)) yield row;
    }
  }

  async attempts(ref: ThreadRef): Promise<readonly Attempt[]> {
    // Ask first: if the thread ends meanwhile, its log has the end.
    const driver = this.#activity.find(ref, await this.#store.find(ref.threadId));
    const { data, reader } = await this.reader(ref);
    return await attemptsIn(reader, driver, {
      copied: (from) => this.#eventsOfCopied(data, from),
      journal: async () => {
        const journal = new StoredLines(this.#store, ref, "journal");
        await journal.refresh();
        return journal;
      },
    });
  }

  /** Returns a reader of a thread's logs, and the logs. */
  async reader(ref: ThreadRef) {
    // The data log first: an event is in the debug log before its step is in the data log.
    const data = new StoredLines(this.#store, ref, "data");
    const info = new StoredLines(this.#store, ref, "events");
    await data.refresh();
    await info.refresh();
    return { data, info, reader: new LogReader({ data, info }) };
  }

  async *log(
    ref: ThreadRef,
    { backward, tail, follow, signal, ...options }: LogOptions,
    changed: () => Promise<void>,
  ): AsyncGenerator<LogLine> {
    const info = new StoredLines(this.#store, ref, "events");
    await info.refresh();
    if (backward) return yield* eventsIn(info.backward());
    let { after = 0 } = options;
    const holding = options.only?.map((name) => `"${name}"`);
    const read = function* (): Generator<LogLine> {
      for (const line of wantedOf(info.forward(after, holding), options)) {
        after = line.position;
        yield line;
      }
    };
    yield* tail === undefined ? read() : [...read()].slice(tail === 0 ? Infinity : -tail);
    for (let goesOn = follow === true; goesOn && !signal?.aborted; ) {
      const wait = changed();
      const row = await this.row(ref);
      goesOn = row !== null && (isMoving(row.status) || row.status === "waiting");
      if (goesOn) await wait;
      await info.refresh();
      yield* read();
    }
  }

  async value({ hash, threadId }: ThreadRef, at: number): Promise<string> {
    const json = await this.#store.readValue({ hash, threadId }, at);
    if (json !== null) return json;
    throw valueNotFound(threadId, at);
  }

  async #driven(ref: ThreadRef, given?: ThreadInfo) {
    // Ask first: if the thread ends meanwhile, its log has the end.
    const info = given ?? (await this.#store.find(ref.threadId));
    const driver = this.#activity.find(ref, info);
    return { ...(await this.#fold(ref)), driver, noted: notedIn(info) };
  }

  async #fold(ref: ThreadRef): Promise<{ facts: LogFold; steps: Step[] }> {
    const { hash, threadId } = ref;
    const data = new StoredLines(this.#store, ref, "data");
    await data.refresh();
    const facts = new LogFold({ hash, threadId });
    const steps: Step[] = [];
    for (const line of data.forward()) {
      const record = facts.take(line);
      if (record === null) break;
      if (record === facts.last) steps.push(facts.last);
    }
    return { facts, steps };
  }

  /** Returns the role that a thread runs before this step, by its debug log; null if unknown. */
  async #runningRole(ref: ThreadRef, step: number): Promise<string | null> {
    const info = new StoredLines(this.#store, ref, "events");
    await info.refresh();
    for (const { record } of eventsIn(info.backward())) {
      const { step: next = 0, stepID } = record;
      if (next < step) return null;
      const { role } = (record.payload ?? {}) as { role?: unknown };
      if (record.type === "attempt_start" && typeof role === "string") return role;
      if (typeof stepID === "string") return stepID;
    }
    return null;
  }

  async #searchText(ref: ThreadRef): Promise<string> {
    const { facts, steps } = await this.#fold(ref);
    if (!facts.start) return ref.threadId.toLowerCase();
    const text = new SearchText();
    for (const step of steps) text.add(step);
    return text.of(facts.start, facts.end);
  }

  /** Returns the events of copied steps, from the source of a fork or an earlier source. */
  async #eventsOfCopied(data: StoredLines, forkFrom: ForkFrom): Promise<CopiedEvents> {
    const wanted: Map<string, EventRecord[]> = copiedAttempts(data, forkFrom);
    const seen = new Set<string>();
    for (let from: string | undefined = forkFrom.threadId; from && !seen.has(from); ) {
      seen.add(from);
      const open = new Map([...wanted].filter(([, events]) => events.length === 0));
      const source: ThreadInfo | null = open.size > 0 ? await this.#store.find(from) : null;
      if (!source) break;
      const info = new StoredLines(this.#store, source, "events");
      await info.refresh();
      collectEvents(info, open);
      from = (await this.start(source))?.forkFrom?.threadId;
    }
    return wanted;
  }
}

/** Returns the facts about a thread that the store keeps outside of its log. */
export const notedIn = (info: ThreadInfo | null): Noted => ({
  movedTo: info?.movedTo ?? null,
  paused: info?.paused ?? false,
});

export const isMissing = (error: unknown): boolean =>
  isWorkflowError(error) && error.code === "THREAD_NOT_FOUND";
