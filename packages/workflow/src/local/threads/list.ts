import type { ThreadFilter, ThreadPage, ThreadQuery } from "../../host/host.ts";
import { readLast, readStart } from "../../disk/log.ts";
import { isEnd } from "../../record/record.ts";
import { readRegistry } from "../../registry/read.ts";
import type { Registry } from "../../registry/registry.ts";
import { hashesOf, versionsOf } from "../../registry/versions.ts";
import { dataPath, loggedHashes, pausedIdsOf, type Root, storedHashes } from "../../disk/paths.ts";
import { notedOf } from "../../disk/threads.ts";
import { isDevName, isHash, isHashPrefix } from "../../contract/names.ts";
import { system } from "../../system/system.ts";
import { isMoving, statusOf, type ThreadRef, type ThreadRow } from "../../record/thread.ts";
import {
  isLimited,
  limitsOf,
  matches,
  type RowFilter,
  type Selector,
} from "../../record/filter.ts";
import { rowAt } from "../../record/row.ts";
import { LiveWorkers, listLive } from "../workers/live.ts";
import { searchText } from "./search.ts";
import { hasWords, wordsOf } from "../../record/search.ts";
import { readRow } from "./row.ts";
import type { IndexEntry, ThreadIndex } from "./thread-index.ts";
import { allThreads, sizeOf, threadsOf } from "./view.ts";
import { ambiguousHash } from "../../registry/errors.ts";

/** Longest time that a list blocks other work, in milliseconds. */
const restEveryMs = 8;

/** Filter of a list: a thread must match the row filter and contain all words. */
export type Filter = RowFilter & { words: readonly string[] };

/**
 * Returns a page of threads, newest first. Reads whole logs only for the page. Filters by the first or last line of a
 * log, unless the filter selects corrupt threads. Unreadable threads have the status `corrupt`.
 *
 * @throws WorkflowError `VERSION_AMBIGUOUS` (usage): the workflow is the prefix of several hashes.
 */
export async function listThreads(
  root: Root,
  query: ThreadQuery = {},
  index: ThreadIndex | null = null,
): Promise<ThreadPage> {
  const { limit = 20, offset = 0, before, paged = true } = query;
  const filter = await filterOf(root, query);
  const { statuses, selectors, words, limits } = filter;
  // Workers report their running threads, and paused threads have a marker file: no other logs need to be read.
  const areLive = statuses !== null && [...statuses].every(isMoving);
  const indexed = areLive || !index ? null : await indexedPage(root, index, query, filter);
  if (indexed) return indexed;
  const all = areLive ? await movingThreads(root) : candidatesOf(root, selectors);
  const isNamed = selectors?.some(({ name }) => name !== undefined) === true;
  const isCounted = !statuses && !isNamed && words.length === 0 && !isLimited(limits);
  const total = isCounted ? all.length : null;
  const asked = before === undefined ? all : all.filter(({ threadId }) => threadId < before);
  const refs = newestFirst(asked, isCounted && !selectors ? offset + limit : null);
  const rows: ThreadRow[] = [];
  for await (const row of rowsOf(root, refs, filter, offset)) {
    if (rows.length >= limit) return { rows, total, next: rows.at(-1)?.threadId ?? null };
    rows.push(row);
    if (rows.length >= limit && (isCounted || !paged)) break;
  }
  const isLast = !isCounted || !paged || offset + limit >= asked.length;
  // Threads that are not created yet have no row.
  const last = rows.length < limit ? refs.at(-1) : rows.at(-1);
  return { rows, total, next: isLast ? null : (last?.threadId ?? null) };
}

/** Converts a query to a filter. @throws WorkflowError `VERSION_AMBIGUOUS` (usage). */
export async function filterOf(root: Root, query: ThreadFilter): Promise<Filter> {
  const { status, workflow, search = "" } = query;
  return {
    statuses: status === undefined ? null : new Set([status].flat()),
    selectors: workflow ? await selectorsOf(root, workflow) : null,
    words: wordsOf(search),
    limits: limitsOf(query),
  };
}

/** The threads that live workers drive, and paused threads. */
async function movingThreads(root: Root): Promise<ThreadRef[]> {
  const paused = loggedHashes(root).flatMap((hash) =>
    pausedIdsOf(root, hash).map((threadId) => ({ hash, threadId })),
  );
  const all = [...(await listLive(root)), ...paused];
  return [...new Map(all.map((ref) => [ref.threadId, ref])).values()];
}

/** The threads that may match the selectors, by the paths of their logs, unordered. */
function candidatesOf(root: Root, selectors: Filter["selectors"]): ThreadRef[] {
  const hashes = new Set(selectors?.map(({ hash }) => hash) ?? [undefined]);
  if (hashes.has(undefined)) return threadsOf(root, loggedHashes(root));
  return threadsOf(root, [...hashes] as string[]);
}

/** Sorts threads, newest first. `most` limits the result, so that not all threads need to be sorted. */
function newestFirst(threads: ThreadRef[], most: number | null): ThreadRef[] {
  const newer = (a: ThreadRef, b: ThreadRef) => (a.threadId > b.threadId ? -1 : 1);
  if (most === null || threads.length <= most * 4) return threads.sort(newer);
  let kept: ThreadRef[] = [];
  let oldest = "";
  for (const thread of threads) {
    if (kept.length >= most && thread.threadId <= oldest) continue;
    kept.push(thread);
    if (kept.length < most * 2) continue;
    kept = kept.sort(newer).slice(0, most);
    oldest = kept.at(-1)?.threadId ?? "";
  }
  return kept.sort(newer).slice(0, most);
}

/** Reads the rows of threads that match a filter, after the first `offset`. */
export async function* rowsOf(
  root: Root,
  refs: readonly ThreadRef[],
  filter: Filter,
  offset: number,
): AsyncGenerator<ThreadRow> {
  const live = new LiveWorkers(root);
  let passed = 0;
  let restedAt = system.clock.elapsed();
  for (const ref of refs) {
    // A filter may skip many threads: let the process answer other requests in between.
    if (system.clock.elapsed() - restedAt > restEveryMs) {
      await system.clock.turn();
      restedAt = system.clock.elapsed();
    }
    const isSearched = filter.words.length === 0 || hasWords(textOf(root, ref), filter.words);
    const found = isSearched ? await prefilter(root, ref, filter, live) : "no";
    if (found === "yes" && passed < offset) {
      passed += 1;
      continue;
    }
    const row = found === "no" ? null : await readRow(root, ref, live);
    if (!row || !matches(row, filter)) continue;
    if (passed < offset) passed += 1;
    else yield row;
  }
}

/** The searched text of a thread; only the id when the log can't be read. */
function textOf(root: Root, ref: ThreadRef): string {
  try {
    return searchText(root, ref);
  } catch {
    return ref.threadId.toLowerCase();
  }
}

/** Returns the page from the index; null when the index is out of date and can't be refreshed quickly. */
async function indexedPage(
  root: Root,
  index: ThreadIndex,
  { limit = 20, offset = 0, before, paged = true }: ThreadQuery,
  filter: Filter,
): Promise<ThreadPage | null> {
  const { statuses, selectors, words, limits } = filter;
  // Only a whole log shows whether it is corrupt.
  if (statuses?.has("corrupt")) return null;
  const isSearch = words.length > 0;
  const isSelective = isSearch || isLimited(limits);
  if (!index.exists && !(isSelective && isWorthIndexing(root))) return null;
  const most = isSelective ? Number.POSITIVE_INFINITY : mostAtOnce;
  if (!(await index.refresh({ most, open: isSearch }))) return null;
  const hashes = selectors?.map(({ name, hash }) => (name === undefined ? hash : undefined));
  const isCounted = !statuses && !isSelective && !hashes?.includes(undefined);
  const live = new LiveWorkers(root);
  const rows: ThreadRow[] = [];
  let passed = 0;
  let isMore = false;
  try {
    const total = isCounted ? index.count((hashes as string[] | undefined) ?? null) : null;
    for (const entry of index.candidates({ ...filter, before })) {
      isMore = rows.length >= limit;
      if (isMore && (isCounted || !paged)) break;
      const row = await rowOf(root, index, entry, live);
      isMore = false;
      if (!row || !matches(row, filter)) continue;
      isMore = rows.length >= limit;
      if (isMore) break;
      if (passed < offset) passed += 1;
      else rows.push(row);
    }
    return { rows, total, next: isMore && paged ? (rows.at(-1)?.threadId ?? null) : null };
  } catch {
    // The next refresh rebuilds a broken index.
    index.close();
    return null;
  }
}

/** The row of an indexed thread. Reads its log when a worker drives it, or the index is out of date. */
export async function rowOf(
  root: Root,
  index: ThreadIndex,
  entry: IndexEntry,
  live: LiveWorkers,
): Promise<ThreadRow | null> {
  const driven = !entry.isOver && (await live.find(entry)) !== null;
  if (driven || !index.isFresh(entry)) return await readRow(root, entry, live);
  return entry.row && rowAt(entry.row, system.clock.now());
}

export const isWorthIndexing = (root: Root): boolean => allThreads(root).length >= worthIndexing;

/** The number of logs from which a list uses an index. */
export const worthIndexing = 1_000;

/** Maximum number of logs to read for a list without a search. For more logs, listing without the index is faster. */
const mostAtOnce = 200;

/** Whether a thread matches by the first and last line of its log; `maybe` requires reading the whole log. */
async function prefilter(
  root: Root,
  ref: ThreadRef,
  { statuses, selectors, limits }: Filter,
  live: LiveWorkers,
): Promise<"no" | "yes" | "maybe"> {
  const isAny = !isLimited(limits);
  if (!statuses && !selectors) return isAny ? "yes" : "maybe";
  const path = dataPath(root, ref.hash, ref.threadId);
  const here = selectors?.filter(({ hash }) => hash === undefined || hash === ref.hash);
  const names = here?.some(({ name }) => name === undefined) ? null : here?.map(({ name }) => name);
  try {
    if (names && !names.includes(readStart(path)?.name)) return "no";
    if (names && !statuses) return isAny ? "yes" : "maybe";
    // Only a whole log shows whether it is corrupt.
    if (statuses?.has("corrupt")) return "maybe";
    const found = readLast(path);
    if (found.kind !== "record") return found.kind === "empty" ? "no" : "maybe";
    if (!statuses) return isAny ? "yes" : "maybe";
    const { record, size } = found;
    const [end, last] = record && isEnd(record) ? [record, null] : [null, record];
    // A log that grows during this check is read whole.
    if (!end && ((await live.find(ref)) || sizeOf(path) !== size)) return "maybe";
    const { status } = statusOf({ broken: null, end, last }, null, notedOf(root, ref));
    return statuses.has(status) ? "maybe" : "no";
  } catch {
    return "maybe";
  }
}

async function selectorsOf(root: Root, text: string): Promise<Selector[]> {
  // Threads are listed even when the registry can't be read.
  const registry: Registry = await readRegistry(root).catch(() => new Map());
  return selectorsIn(registry, text, {
    stored: () => storedHashes(root),
    logged: () => loggedHashes(root),
  });
}

/**
 * The threads that a text selects, as in `resolve`. A removed name still selects its threads. `logged` returns the
 * hashes of versions with threads, `stored` the hashes of bundles.
 *
 * @throws WorkflowError `VERSION_AMBIGUOUS` (usage).
 */
export function selectorsIn(
  registry: Registry,
  text: string,
  { stored, logged }: { stored: () => string[]; logged: () => string[] },
): Selector[] {
  const at = text.indexOf("@");
  if (isDevName(text)) return [{ name: text }];
  if (at > 0) return versionSelectors(registry, text.slice(0, at), text.slice(at + 1), logged);
  const digits = text.toUpperCase();
  if (registry.has(text) || !isHashPrefix(digits)) return [{ name: text }];
  if (isHash(digits)) return [{ hash: digits }];
  const hash = onlyOne(text, [...hashesOf(registry), ...stored(), ...logged()]);
  return hash === undefined ? [{ name: text }] : [{ name: text }, { hash }];
}

function versionSelectors(
  registry: Registry,
  name: string,
  text: string,
  logged: () => string[],
): Selector[] {
  if (text === "") return [];
  const workflow = registry.get(name);
  const hash = onlyOne(text, workflow ? versionsOf(workflow).map((version) => version.hash) : []);
  if (hash !== undefined) return [{ name, hash }];
  return withPrefix(text, logged()).map((one) => ({ name, hash: one }));
}

const withPrefix = (text: string, hashes: readonly string[]): string[] =>
  [...new Set(hashes)].filter((hash) => hash.startsWith(text.toUpperCase())).sort();

function onlyOne(text: string, hashes: readonly string[]): string | undefined {
  const found = withPrefix(text, hashes);
  if (found.length > 1) throw ambiguousHash(text, found);
  return found[0];
}
