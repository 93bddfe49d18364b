import { hasWords, isThreadId, type Selector, wordsOf } from "@uncaged/workflow/driver";
import {
  isMoving,
  type LiveRow,
  type Status,
  type ThreadPage,
  type ThreadQuery,
  type ThreadRow,
} from "@uncaged/workflow/host";
import { type IndexRow, livePeriod, periodOf, periodsPeriod, rowOf } from "../thread/row.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import type { HostContext } from "./context.ts";

/** How long the objects of the index may differ in what they have of a new thread. */
const settlesMs = 10_000;

const overStatuses: ReadonlySet<Status> = new Set(["completed", "failed", "killed"]);

/** All threads of the index, newest first; one that has not ended may have got on since. */
export async function* allRows(context: HostContext, before?: string): AsyncGenerator<IndexRow> {
  const { client, recent } = context;
  const known = (await client.state("index", periodsPeriod)).map(({ key }) => key);
  const periods = new Set([...known, ...[...recent.keys()].map(periodOf)]);
  const latest = before === undefined || !isThreadId(before) ? null : periodOf(before);
  for (const period of [...periods].sort().toReversed()) {
    if (latest !== null && period > latest) continue;
    const rows = await rowsOf(context, period, known.includes(period));
    yield* rows.filter(({ threadId }) => before === undefined || threadId < before);
  }
}

/** `isKnown`: whether the index lists the period already: it comes a little after its first row. */
async function rowsOf(
  { client, recent }: HostContext,
  period: string,
  isKnown: boolean,
): Promise<IndexRow[]> {
  const rows = new Map<string, IndexRow>();
  for (const { key, bytes } of await client.state("index", period)) {
    if (isThreadId(key)) rows.set(key, JSON.parse(bytes.toString("utf8")) as IndexRow);
  }
  for (const [threadId, ref] of recent) {
    if (rows.has(threadId)) {
      if (isKnown && Date.now() - ref.at > settlesMs) recent.delete(threadId);
    } else if (periodOf(threadId) === period) {
      const meta = await client.value<ThreadMeta>("thread", ref.threadId, "meta");
      if (meta) rows.set(threadId, rowOf(meta));
      else recent.delete(threadId);
    }
  }
  return [...rows.values()].sort((a, b) => (a.threadId > b.threadId ? -1 : 1));
}

/** A thread's row as it is now; null when it has been removed. */
export async function rowNow(context: HostContext, meta: ThreadMeta): Promise<ThreadRow> {
  const row = rowOf(meta);
  if (row.status !== "running" || (await context.isDriven(meta))) return row;
  return { ...row, status: "interrupted" };
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
  const rows: ThreadRow[] = [];
  let passed = 0;
  let isMore = false;
  for await (const { text = "", forkFrom: _, ...indexed } of allRows(context, before)) {
    if (!isSelected(indexed) || !hasWords(`${indexed.threadId.toLowerCase()}\n${text}`, words))
      continue;
    if (statuses && overStatuses.has(indexed.status) && !statuses.has(indexed.status)) continue;
    const isOver = overStatuses.has(indexed.status);
    const meta = isOver ? null : await context.metaOf(indexed);
    if (!isOver && !meta) continue;
    const row = meta ? await rowNow(context, meta) : indexed;
    if (statuses && !statuses.has(row.status)) continue;
    isMore = rows.length >= limit;
    if (isMore) break;
    if (passed < offset) passed += 1;
    else rows.push(row);
  }
  const total = isCounted ? await countAll(context) : null;
  return { rows, total, next: isMore ? (rows.at(-1)?.threadId ?? null) : null };
}

async function countAll(context: HostContext): Promise<number> {
  let count = 0;
  for await (const _ of allRows(context)) count += 1;
  return count;
}

const isSelectedBy =
  (selectors: readonly Selector[]) =>
  (row: ThreadRow): boolean =>
    selectors.some(
      ({ name = row.workflow, hash = row.hash }) => row.workflow === name && row.hash === hash,
    );

/** @see Host.live */
export async function listLive(context: HostContext): Promise<LiveRow[]> {
  const { client, recent } = context;
  const listed = (await client.state("index", livePeriod)).map(({ key }) => key);
  const ids = [...new Set([...listed, ...recent.keys()])].filter(isThreadId).sort();
  const rows = await Promise.all(
    ids.map(async (threadId) => {
      const meta = await client.value<ThreadMeta>("thread", threadId, "meta");
      return meta && isMoving(rowOf(meta).status) ? await context.liveRow(meta) : null;
    }),
  );
  return rows.filter((row) => row !== null);
}
