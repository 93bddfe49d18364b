import {
  HourSums,
  isLimited,
  isSelected,
  limitsOf,
  matches,
  rowAt,
  type RowFilter,
  type Selector,
  startsWithin,
  VersionSums,
  wordsOf,
  type WorkFigures,
} from "@uncaged/workflow/store";
import { isMoving, isThreadId } from "@uncaged/workflow/internal";
import type {
  LiveRow,
  Status,
  ThreadFilter,
  ThreadPage,
  ThreadQuery,
  ThreadRow,
  ThreadSummary,
  VersionFigures,
} from "@uncaged/workflow/host";
import { quoted } from "../client/client.ts";
import {
  hasShown,
  type IndexRow,
  livePeriod,
  newestPrefix,
  periodOf,
  periodsPeriod,
  rowOf,
} from "../thread/row.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import type { HostContext } from "./context.ts";

/** Longest time for which the objects of the index may disagree about a new thread, in milliseconds. */
const settlesMs = 10_000;
/** Time for which {@link readNewest} remembers threads that this host started, in milliseconds. */
const forgetsMs = 60_000;

/** Statuses of a thread that has ended. */
export const overStatuses: ReadonlySet<Status> = new Set(["completed", "failed", "killed"]);

/** Size of the first page of an hour's threads. Each further page is four times as large. */
const firstPage = 100;
/** Number of threads whose logs are read at once. */
const atOnce = 50;
/** Size of the first page of a summary. */
const summedPage = 1_000;

/** Returns all threads of the index, newest first. Rows of threads that have not ended may be stale. */
export async function* allRows(context: HostContext, before?: string): AsyncGenerator<IndexRow> {
  for await (const page of pages(context, { before })) yield* page;
}

type Paging = { before?: string | undefined; size?: number };

/** Returns the threads of the index in pages, newest first. */
async function* pages(
  context: HostContext,
  { before, size = firstPage }: Paging,
): AsyncGenerator<IndexRow[]> {
  const { known, all } = await periodsOf(context);
  const latest = before === undefined || !isThreadId(before) ? null : periodOf(before);
  let most = size;
  for (const period of all) {
    if (latest !== null && period > latest) continue;
    for (let below = before ?? afterIds; below !== ""; most *= 4) {
      const rows = await rowsOf(context, period, below, most);
      const from = rows.length < most ? "" : (rows.at(-1)?.threadId ?? "");
      const isIn = (id: string) => periodOf(id) === period && id < below && id >= from;
      const late = await lateRows(context, rows, isIn, known.has(period));
      yield [...rows, ...late].sort(newestFirst);
      below = from;
    }
  }
}

/** Returns the hours that have threads, latest first. The index knows an hour shortly after its first row. */
async function periodsOf({ client, recent }: HostContext) {
  const known = new Set((await client.state("index", periodsPeriod)).map(({ key }) => key));
  const all = new Set([...known, ...[...recent.keys()].map(periodOf)]);
  return { known, all: [...all].sort().toReversed() };
}

/** Key prefix of the other values in an index object. Sorts after every thread id. */
const afterIds = "a";
const newestFirst = (a: IndexRow, b: IndexRow): number => (a.threadId > b.threadId ? -1 : 1);

async function rowsOf(
  { client }: HostContext,
  period: string,
  below: string,
  most: number,
): Promise<IndexRow[]> {
  const where = ` AND key < ${quoted(below)} ORDER BY key DESC LIMIT ${most}`;
  const found = await client.state("index", period, where);
  return found.map(({ bytes }) => JSON.parse(bytes.toString("utf8")) as IndexRow);
}

/** Returns the rows of threads that this host started and the index lacks. */
async function lateRows(
  context: HostContext,
  rows: readonly IndexRow[],
  isIn: (threadId: string) => boolean,
  isKnown: boolean,
): Promise<IndexRow[]> {
  const { recent } = context;
  const listed = new Set(rows.map(({ threadId }) => threadId));
  const missing: string[] = [];
  for (const [threadId, { at }] of recent) {
    if (!isIn(threadId)) continue;
    if (!listed.has(threadId)) missing.push(threadId);
    else if (isKnown && Date.now() - at > settlesMs) recent.delete(threadId);
  }
  const metas = await context.metas(missing);
  for (const threadId of missing) if (!metas.has(threadId)) recent.delete(threadId);
  return [...metas.values()].map(rowOf);
}

/** Newest threads in the index. */
type Newest = {
  total: number;
  /** Thread ids, newest first. */
  ids: string[];
  /** Whether `ids` has all threads. Otherwise it has the newest few hundred. */
  isAll: boolean;
};

/** Reads the number of threads and the newest ids, without reading the index of an hour. */
export async function readNewest(context: HostContext): Promise<Newest> {
  const { client, recent } = context;
  const prefix = newestPrefix;
  const where = ` AND (key IN ('total', 'oldest') OR (key >= '${prefix}' AND key < '${prefix}Z'))`;
  const kept = new Map(
    (await client.state("index", livePeriod, where)).map((r) => [r.key, r.bytes]),
  );
  const read = (key: string): unknown => JSON.parse(kept.get(key)?.toString("utf8") ?? "null");
  const oldest = (read("oldest") ?? "") as string;
  const ids = new Set([...kept.keys()].map((key) => key.slice(prefix.length)).filter(isThreadId));
  const late: string[] = [];
  for (const [threadId, { at }] of recent) {
    if (!ids.has(threadId) && threadId >= oldest) late.push(threadId);
    else if (Date.now() - at > forgetsMs) recent.delete(threadId);
  }
  const there = await context.metas(late);
  for (const threadId of late) if (!there.has(threadId)) recent.delete(threadId);
  const all = [...ids, ...there.keys()].filter((id) => id >= oldest);
  const total = ((read("total") ?? 0) as number) + there.size;
  return { total, ids: all.sort().toReversed(), isAll: oldest === "" };
}

/** Returns a thread's current row. Reads its log unless the thread rests and its meta has all fields of the row. */
export async function rowNow(context: HostContext, meta: ThreadMeta): Promise<ThreadRow> {
  return (await indexedNow(context, meta)).row;
}

/** Returns a thread's current row, and its figures if its log was read. */
async function indexedNow(
  context: HostContext,
  meta: ThreadMeta,
): Promise<{ row: ThreadRow; figures?: WorkFigures }> {
  const known = rowOf(meta);
  const isDriven = known.status !== "running" || (await context.isDriven(meta));
  const row = rowAt(isDriven ? known : { ...known, status: "interrupted" }, Date.now());
  if (hasShown(meta)) return { row };
  const found = await context.read(meta, row.status === "running").catch(() => null);
  if (!found) return { row };
  const { subject, at, spent, hasError } = found.row;
  return { row: { ...row, subject, at, spent, hasError }, figures: found.figures };
}

/** @see Host.threads */
export async function listThreads(
  context: HostContext,
  selectorsOf: (text: string) => Promise<Selector[]>,
  query: ThreadQuery = {},
): Promise<ThreadPage> {
  const { limit = 20, offset = 0, before } = query;
  const filter = await filterOf(selectorsOf, query);
  const { statuses, selectors, words, limits } = filter;
  const isCounted = !statuses && !selectors && words.length === 0 && !isLimited(limits);
  const wanted = offset + limit + 1;
  const newest = isCounted ? await readNewest(context) : null;
  let rows = newest && (await newestRows(context, newest, { before, wanted }));
  if (!rows) {
    rows = [];
    const size = isCounted ? wanted : Math.max(wanted, firstPage);
    for await (const page of pages(context, { before, size })) {
      rows.push(...(await matchingRows(context, page, filter)));
      if (rows.length >= wanted) break;
    }
  }
  const shown = rows.slice(offset, offset + limit);
  const next = rows.length >= wanted ? (shown.at(-1)?.threadId ?? null) : null;
  return { rows: shown, total: newest?.total ?? null, next };
}

type Filter = RowFilter & { words: readonly string[] };

async function filterOf(
  selectorsOf: (text: string) => Promise<Selector[]>,
  query: ThreadFilter,
): Promise<Filter> {
  const { status, workflow, search = "" } = query;
  return {
    statuses: status === undefined ? null : new Set([status].flat()),
    selectors: workflow ? await selectorsOf(workflow) : null,
    words: wordsOf(search),
    limits: limitsOf(query),
  };
}

/** Returns the current rows of a page that match a filter. Reads no log of a thread that has ended. */
async function matchingRows(
  context: HostContext,
  page: readonly IndexRow[],
  filter: Filter,
): Promise<ThreadRow[]> {
  const mayMatch = (row: IndexRow): boolean =>
    hasAll(`${row.threadId.toLowerCase()}\n${row.text ?? ""}`, filter.words) &&
    (isFinal(row)
      ? matches(row, filter)
      : isSelected(row, filter.selectors) && startsWithin(row.createdAt, filter.limits));
  const now = await indexedRows(context, page.filter(mayMatch));
  return now.map(({ row }) => row).filter((row) => matches(row, filter));
}

/** @see Host.summary */
export async function summaryOf(
  context: HostContext,
  selectorsOf: (text: string) => Promise<Selector[]>,
  query: ThreadFilter = {},
): Promise<ThreadSummary> {
  const filter = await filterOf(selectorsOf, query);
  const sums = new HourSums();
  for await (const page of pages(context, { size: summedPage })) {
    for (const row of await matchingRows(context, page, filter)) {
      sums.add({ ...row, cost: row.spent.cost });
    }
  }
  return sums.summary;
}

/** Returns the figures of the threads of each hash, and their number. */
export async function figuresByHash(
  context: HostContext,
): Promise<Map<string, { threads: number; figures: VersionFigures }>> {
  const found = new Map<string, { threads: number; sums: VersionSums }>();
  for await (const page of pages(context, { size: summedPage })) {
    for (const { row, figures = noFigures } of await indexedRows(context, page)) {
      const of = found.get(row.hash) ?? { threads: 0, sums: new VersionSums() };
      of.threads += 1;
      of.sums.add(row, figures);
      found.set(row.hash, of);
    }
  }
  const now = Date.now();
  return new Map(
    Array.from(found, ([hash, { threads, sums }]) => [
      hash,
      { threads, figures: sums.figures(now) },
    ]),
  );
}

const noFigures: WorkFigures = { roles: [], models: [] };

/** Returns the newest threads, or the newest before an id; null when the list of the newest is too short. */
async function newestRows(
  context: HostContext,
  { ids, isAll }: Newest,
  { before, wanted }: { before: string | undefined; wanted: number },
): Promise<ThreadRow[] | null> {
  const listed = ids.filter((id) => before === undefined || id < before);
  if (listed.length < wanted && !isAll) return null;
  const metas = await context.metas(listed.slice(0, wanted));
  // Another process has just removed threads of the list.
  if (metas.size < Math.min(wanted, listed.length)) return null;
  return await rowsOfMetas(context, [...metas.values()]);
}

/** Returns current rows of threads, with `running` only while a worker drives the thread. */
export async function rowsOfMetas(
  context: HostContext,
  metas: readonly ThreadMeta[],
): Promise<ThreadRow[]> {
  await context.driven(metas);
  return await Promise.all(metas.map((meta) => rowNow(context, meta)));
}

/** Whether an index row is complete and never changes. */
const isFinal = ({ status, isShown }: IndexRow): boolean => overStatuses.has(status) && !!isShown;

/** Returns current rows of indexed threads with their figures. Leaves out removed threads. */
async function indexedRows(
  context: HostContext,
  indexed: readonly IndexRow[],
): Promise<{ row: ThreadRow; figures?: WorkFigures }[]> {
  const moving = indexed.filter((row) => !isFinal(row));
  const metas = await context.metas(moving.map(({ threadId }) => threadId));
  await context.driven([...metas.values()]);
  const read = async (one: IndexRow) => {
    const { text: _, forkFrom: __, isShown: ___, figures, ...row } = one;
    const kept = figures && { figures };
    const meta = metas.get(row.threadId);
    if (isFinal(one)) return [{ row, ...kept }];
    return meta?.hash === row.hash ? [{ ...kept, ...(await indexedNow(context, meta)) }] : [];
  };
  const found: { row: ThreadRow; figures?: WorkFigures }[] = [];
  for (let n = 0; n < indexed.length; n += atOnce) {
    found.push(...(await Promise.all(indexed.slice(n, n + atOnce).map(read))).flat());
  }
  return found;
}

const hasAll = (text: string, words: readonly string[]): boolean =>
  words.every((word) => text.includes(word));

/** @see Host.live */
export async function listLive(context: HostContext): Promise<LiveRow[]> {
  const { client, recent } = context;
  const listed = await client.keys("index", livePeriod, ` AND key < '${afterIds}'`);
  const ids = [...new Set([...listed, ...recent.keys()])].filter(isThreadId).sort();
  const metas = [...(await context.metas(ids)).values()].filter((meta) =>
    isMoving(rowOf(meta).status),
  );
  await context.driven(metas);
  const rows = await Promise.all(metas.map((meta) => context.liveRow(meta)));
  return rows.filter((row) => row !== null);
}
