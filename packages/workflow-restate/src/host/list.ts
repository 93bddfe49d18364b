import { rowAt, type Selector, wordsOf } from "@uncaged/workflow/store";
import { isMoving, isThreadId } from "@uncaged/workflow/internal";
import type { LiveRow, Status, ThreadPage, ThreadQuery, ThreadRow } from "@uncaged/workflow/host";
import { quoted } from "../client/client.ts";
import {
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

/** Returns a thread's current row; null when the thread has been removed. */
export async function rowNow(context: HostContext, meta: ThreadMeta): Promise<ThreadRow> {
  const row = rowOf(meta);
  const isDriven = row.status !== "running" || (await context.isDriven(meta));
  return rowAt(isDriven ? row : { ...row, status: "interrupted" }, Date.now());
}

/** @see Host.threads */
export async function listThreads(
  context: HostContext,
  selectorsOf: (text: string) => Promise<Selector[]>,
  { limit = 20, offset = 0, before, status, workflow, search = "" }: ThreadQuery = {},
): Promise<ThreadPage> {
  const statuses = status === undefined ? null : new Set([status].flat());
  const words = wordsOf(search);
  const selectors = workflow ? await selectorsOf(workflow) : null;
  const isSelected = selectors ? isSelectedBy(selectors) : () => true;
  const isCounted = !statuses && !selectors && words.length === 0;
  const wanted = offset + limit + 1;
  const isWanted = (row: IndexRow) =>
    isSelected(row) &&
    hasAll(`${row.threadId.toLowerCase()}\n${row.text ?? ""}`, words) &&
    (!statuses || !overStatuses.has(row.status) || statuses.has(row.status));
  const newest = isCounted ? await readNewest(context) : null;
  let rows = newest && (await newestRows(context, newest, { before, wanted }));
  if (!rows) {
    rows = [];
    const size = isCounted ? wanted : Math.max(wanted, firstPage);
    for await (const page of pages(context, { before, size })) {
      const now = await rowsNow(context, page.filter(isWanted));
      rows.push(...now.filter((row) => !statuses || statuses.has(row.status)));
      if (rows.length >= wanted) break;
    }
  }
  const shown = rows.slice(offset, offset + limit);
  const next = rows.length >= wanted ? (shown.at(-1)?.threadId ?? null) : null;
  return { rows: shown, total: newest?.total ?? null, next };
}

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

/** Returns current rows of indexed threads. Leaves out removed threads. */
async function rowsNow(context: HostContext, indexed: readonly IndexRow[]): Promise<ThreadRow[]> {
  const moving = indexed.filter(({ status }) => !overStatuses.has(status));
  const metas = await context.metas(moving.map(({ threadId }) => threadId));
  const now = await rowsOfMetas(context, [...metas.values()]);
  const byId = new Map(now.map((row) => [row.threadId, row]));
  return indexed.flatMap((one) => {
    const { text: _, forkFrom: __, ...row } = one;
    const found = overStatuses.has(row.status) ? row : byId.get(row.threadId);
    return found?.hash === row.hash ? [found] : [];
  });
}

const hasAll = (text: string, words: readonly string[]): boolean =>
  words.every((word) => text.includes(word));

const isSelectedBy =
  (selectors: readonly Selector[]) =>
  (row: ThreadRow): boolean =>
    selectors.some(
      ({ name = row.workflow, hash = row.hash }) => row.workflow === name && row.hash === hash,
    );

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
