import { system } from "../system/system.ts";
import type { Attempt } from "../record/attempt.ts";
import type { EventRecord } from "../contract/event.ts";
import { isThreadId } from "../contract/names.ts";
import type { ThreadFilter, ThreadPage, ThreadQuery } from "../host/host.ts";
import {
  attemptsIn,
  type CopiedEvents,
  collectEvents,
  copiedAttempts,
} from "../local/threads/events.ts";
import { HourSums, type ThreadSummary } from "../record/figures.ts";
import {
  isLimited,
  isSelected,
  limitsOf,
  matches,
  type Selector,
  startsWithin,
} from "../record/filter.ts";
import { LogReader } from "../record/reader.ts";
import type { StartRecord } from "../record/record.ts";
import { hasWords, wordsOf } from "../record/search.ts";
import { pickThread } from "../record/selection.ts";
import {
  type ForkFrom,
  type Status,
  type ThreadRef,
  type ThreadRow,
  type ThreadView,
} from "../record/thread.ts";
import { headlessView, viewOf } from "../record/view.ts";
import type { ListQuery, ThreadInfo, ThreadStore } from "../store/store.ts";
import type { Activity } from "./activity.ts";
import { notedIn } from "./noted.ts";
import { firstRecord, StoredLines } from "./stored-lines.ts";
import { folded, type IndexedThread, StoredRows } from "./stored-rows.ts";
import { valueNotFound } from "../host/errors.ts";
import { notFound } from "../record/errors.ts";

/** Default and maximum number of threads in a page of a list. */
const [pageLength, longestPage] = [200, 1_000];
/** Maximum number of matching threads named in an error. */
const mostMatches = 100;
const endings: ReadonlySet<Status> = new Set(["completed", "failed", "killed"]);

/** The threads of a store, in the form in which a host returns them. */
export class StoredThreads {
  readonly #store: ThreadStore;
  readonly #activity: Activity;
  readonly #rows: StoredRows;

  constructor(store: ThreadStore, activity: Activity) {
    this.#store = store;
    this.#activity = activity;
    this.#rows = new StoredRows(store, activity);
  }

  /** Yields all threads in pages, newest first. */
  async *pages({ limit = pageLength, ...query }: ListQuery = {}): AsyncGenerator<ThreadInfo[]> {
    for (let { before } = query, size = limit; ; size = pageLength) {
      const page = await this.#store.list({
        ...query,
        limit: size,
        ...(before !== undefined && { before }),
      });
      if (page.length > 0) yield page;
      before = page.at(-1)?.threadId;
      if (page.length < size || before === undefined) return;
    }
  }

  /** Returns all threads, newest first. */
  async all(): Promise<ThreadInfo[]> {
    return (await Array.fromAsync(this.pages())).flat();
  }

  /** Returns the threads connected with a thread by forks; for a store without an index, all other threads. */
  async relatives(threadId: string): Promise<ThreadInfo[]> {
    return (await this.#store.index?.relatives(threadId)) ?? (await this.all());
  }

  /** Finds the thread that a text selects. @throws WorkflowError the errors of `pickThread` */
  async find(text: string): Promise<ThreadRef> {
    const found = isThreadId(text) ? await this.#store.find(text) : null;
    if (!found && isThreadId(text)) throw notFound(text);
    const { hash, threadId } = found ?? pickThread(await this.#matching(text), text);
    return { hash, threadId };
  }

  async #matching(text: string): Promise<ThreadInfo[]> {
    if (text === "@last") return await this.#store.list({ limit: 1 });
    const { index } = this.#store;
    if (!index) return await this.all();
    return text === "" ? [] : await index.matching(text.toUpperCase(), mostMatches);
  }

  /** Returns a thread's start record; null when it is unreadable. @throws WorkflowError `THREAD_NOT_FOUND` */
  start(ref: ThreadRef): Promise<StartRecord | null> {
    return firstRecord(this.#store, ref);
  }

  /** Reads a whole thread. @throws WorkflowError `THREAD_NOT_FOUND` */
  async read(ref: ThreadRef): Promise<ThreadView> {
    const info = await this.#info(ref);
    // Read the driver first: if the thread ends in the meantime, its log has the end.
    const driver = this.#activity.find(ref, info);
    const logs = this.#rows.logs(info);
    await logs.data.refresh();
    const { facts, steps } = folded(ref, logs);
    const { start, broken, end } = facts;
    const now = system.clock.now();
    if (start) return viewOf(ref, { start, steps, broken, end }, driver, notedIn(info), now);
    return headlessView(ref, broken ?? { line: 1, offset: 0, reason: "no start record" });
  }

  /** Returns the row of a thread; null when it is missing. `info`: the thread, from a list. */
  async row(ref: ThreadRef, info?: ThreadInfo): Promise<ThreadRow | null> {
    const found = info ?? (await this.#store.find(ref.threadId));
    return found?.hash === ref.hash ? ((await this.#rows.one(found))?.row ?? null) : null;
  }

  /** Returns the rows of threads by id. Leaves out missing threads. */
  async rows(infos: readonly ThreadInfo[]): Promise<Map<string, ThreadRow>> {
    const found = await this.#rows.many(infos);
    return new Map([...found].map(([threadId, { row }]) => [threadId, row]));
  }

  /** Stores the list entry of a thread that rests, so that lists need not read its log. */
  async keep(threadId: string): Promise<void> {
    if (this.#store.index) await this.#rows.keep(threadId);
  }

  /** Yields a bundle's threads with their figures. */
  async *indexed(hash: string): AsyncGenerator<IndexedThread> {
    for await (const page of this.pages({ hash })) yield* (await this.#rows.many(page)).values();
  }

  /** Implements `Host.threads`. `selectors` match the query's workflow. */
  async page(query: ThreadQuery, selectors: readonly Selector[] | null): Promise<ThreadPage> {
    const { limit = 20, offset = 0, before, status, search = "", paged = true } = query;
    const isCounted =
      status === undefined && !selectors && search.trim() === "" && !isLimited(limitsOf(query));
    const wanted = offset + limit + (paged ? 1 : 0);
    const found: ThreadRow[] = [];
    const total = isCounted ? this.#count() : null;
    // The count is awaited last; an earlier rejection must not end the process.
    total?.catch(() => undefined);
    const pages = this.#candidates(query, {
      before,
      limit: isCounted ? Math.min(wanted, longestPage) : pageLength,
    });
    for await (const row of this.#selected(pages, query, selectors)) {
      if (found.push(row) >= wanted) break;
    }
    const rows = found.slice(offset, offset + limit);
    const isMore = found.length > offset + limit;
    return {
      rows,
      total: await total,
      next: isMore ? (rows.at(-1)?.threadId ?? null) : null,
    };
  }

  async #count(): Promise<number | null> {
    const { index } = this.#store;
    return index ? await index.count() : (await this.all()).length;
  }

  /** Implements `Host.summary`. `selectors` match the query's workflow. */
  async summary(
    query: ThreadFilter,
    selectors: readonly Selector[] | null,
  ): Promise<ThreadSummary> {
    const sums = new HourSums();
    for await (const row of this.#selected(this.#candidates(query), query, selectors)) {
      sums.add({ ...row, cost: row.spent.cost });
    }
    return sums.summary;
  }

  /** Returns the hashes of the bundles that have threads. */
  async hashes(): Promise<string[]> {
    const { index } = this.#store;
    if (index) return await index.hashes();
    return [...new Set((await this.all()).map(({ hash }) => hash))];
  }

  /** Yields the threads that may match a filter, newest first. */
  async *#candidates(
    { status }: ThreadFilter,
    { before, limit }: { before?: string | undefined; limit?: number } = {},
  ): AsyncGenerator<ThreadInfo[]> {
    const { index } = this.#store;
    const isActive = status !== undefined && [status].flat().every(isDriven);
    if (index && isActive) {
      const active = await index.active();
      yield active
        .filter(({ threadId }) => before === undefined || threadId < before)
        .sort((a, b) => (a.threadId < b.threadId ? 1 : -1));
      return;
    }
    yield* this.pages({
      ...(before !== undefined && { before }),
      ...(limit !== undefined && { limit }),
    });
  }

  /** Yields the rows of the threads that match a filter. */
  async *#selected(
    pages: AsyncIterable<readonly ThreadInfo[]>,
    { status, search = "", ...limits }: ThreadFilter,
    selectors: readonly Selector[] | null,
  ): AsyncGenerator<ThreadRow> {
    const statuses = status === undefined ? null : new Set([status].flat());
    const filter = { statuses, selectors, limits: limitsOf(limits) };
    const words = wordsOf(search);
    for await (const page of pages) {
      const infos = page.filter(
        (info) =>
          mayHave(info, statuses) &&
          isSelected({ ...info, workflow: info.name }, selectors) &&
          startsWithin(info.createdAt, filter.limits),
      );
      const found = await this.#rows.many(infos);
      for (const { threadId } of infos) {
        const thread = found.get(threadId);
        if (!thread || !matches(thread.row, filter)) continue;
        if (words.length === 0 || hasWords(thread.text, words)) yield thread.row;
      }
    }
  }

  /** Implements `Host.attempts`. */
  async attempts(ref: ThreadRef): Promise<readonly Attempt[]> {
    // Read the driver first: if the thread ends in the meantime, its log has the end.
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
    // Read the data log first: an event is in the debug log before its step is in the data log.
    const data = new StoredLines(this.#store, ref, "data");
    const info = new StoredLines(this.#store, ref, "events");
    await data.refresh();
    await info.refresh();
    return { data, info, reader: new LogReader({ data, info }) };
  }

  /** Implements `Host.value`. */
  async value({ hash, threadId }: ThreadRef, at: number): Promise<string> {
    const json = await this.#store.readValue({ hash, threadId }, at);
    if (json !== null) return json;
    throw valueNotFound(threadId, at);
  }

  async #info({ hash, threadId }: ThreadRef): Promise<ThreadInfo> {
    const info = await this.#store.find(threadId);
    if (info?.hash === hash) return info;
    throw notFound(threadId);
  }

  /** Returns the events of a fork's copied steps, from its source or an earlier source. */
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

/** Returns whether only threads that run or are claimed can have a status. */
const isDriven = (status: Status): boolean => status === "running" || status === "interrupted";

/** Returns whether a thread's log allows one of the statuses. A corrupt thread may be in any state. */
function mayHave({ state }: ThreadInfo, statuses: ReadonlySet<Status> | null): boolean {
  if (!statuses || statuses.has("corrupt")) return true;
  return statuses.values().some((status) => endings.has(status) === (state.kind === "ended"));
}
