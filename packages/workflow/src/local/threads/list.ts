import type { ThreadPage, ThreadQuery } from "../../host/host.ts";
import { outlineLog, readLast, readStart } from "../../disk/log.ts";
import { isEnd } from "../../record/record.ts";
import { readRegistry } from "../../registry/read.ts";
import type { Registry } from "../../registry/registry.ts";
import { hashesOf, versionsOf } from "../../registry/versions.ts";
import { systemCode } from "../../disk/disk-error.ts";
import { dataPath, loggedHashes, pausedIdsOf, type Root, storedHashes } from "../../disk/paths.ts";
import { notedOf } from "../../disk/threads.ts";
import { isDevName, isHash, isHashPrefix } from "../../contract/names.ts";
import { system } from "../../system/system.ts";
import {
  isMoving,
  type Status,
  statusOf,
  type ThreadRef,
  type ThreadRow,
} from "../../record/thread.ts";
import { rowAt, rowFrom, unknownRow } from "../../record/row.ts";
import { LiveWorkers, listLive } from "../workers/live.ts";
import { searchText } from "./search.ts";
import { hasWords, wordsOf } from "../../record/search.ts";
import type { IndexedRow, ThreadIndex } from "./thread-index.ts";
import { allThreads, readDriven, sizeOf, threadsOf } from "./view.ts";
import { ambiguousHash } from "../../registry/errors.ts";

/** Longest time that a list blocks other work, in milliseconds. */
const restEveryMs = 8;

/** Selects threads by name, by version, or by both. */
export type Selector = { name?: string; hash?: string };

/**
 * Filter of a list: a thread must match one of the statuses and one of the selectors, and contain all words. Null
 * matches all.
 */
type Filter = {
  statuses: ReadonlySet<Status> | null;
  selectors: readonly Selector[] | null;
  words: readonly string[];
};

/**
 * Returns a page of threads, newest first. Reads whole logs only for the page. Filters by the first or last line of a
 * log, unless the filter selects corrupt threads. Unreadable threads are corrupt.
 *
 * @throws WorkflowError `VERSION_AMBIGUOUS` (usage): the workflow is the prefix of several hashes.
 */
export async function listThreads(
  root: Root,
  query: ThreadQuery = {},
  index: ThreadIndex | null = null,
): Promise<ThreadPage> {
  const { limit = 20, offset = 0, before, status, workflow, search = "", paged = true } = query;
  const statuses = status === undefined ? null : new Set([status].flat());
  const selectors = workflow ? await selectorsOf(root, workflow) : null;
  const words = wordsOf(search);
  // Workers know their running threads, and paused threads have a marker file, so no other logs need to be read.
  const areLive = statuses !== null && [...statuses].every(isMoving);
  const filter: Filter = { statuses, selectors, words };
  const indexed = areLive || !index ? null : await indexedPage(root, index, query, filter);
  if (indexed) return indexed;
  const all = areLive ? await movingThreads(root) : candidatesOf(root, selectors);
  const isNamed = selectors?.some(({ name }) => name !== undefined) === true;
  const isCounted = !statuses && !isNamed && words.length === 0;
  const total = isCounted ? all.length : null;
  const asked = before === undefined ? all : all.filter(({ threadId }) => threadId < before);
  const refs = newestFirst(
    asked,
    statuses || selectors || words.length > 0 ? null : offset + limit,
  );
  const rows: ThreadRow[] = [];
  for await (const row of rowsOf(root, refs, filter, offset)) {
    if (rows.length >= limit) return { rows, total, next: rows.at(-1)?.threadId ?? null };
    rows.push(row);
    if (rows.length >= limit && (isCounted || !paged)) break;
  }
  const isLast = !isCounted || !paged || offset + limit >= asked.length;
  // Some of the threads may not be created yet.
  const last = rows.length < limit ? refs.at(-1) : rows.at(-1);
  return { rows, total, next: isLast ? null : (last?.threadId ?? null) };
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

/** Sorts newest first. `most` limits the result and avoids sorting all. */
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

async function* rowsOf(
  root: Root,
  refs: readonly ThreadRef[],
  filter: Filter,
  offset: number,
): AsyncGenerator<ThreadRow> {
  const live = new LiveWorkers(root);
  let passed = 0;
  let restedAt = system.clock.elapsed();
  for (const ref of refs) {
    // A filter may skip many threads: let the server answer other requests in between.
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

const matches = (row: ThreadRow, { statuses, selectors }: Filter): boolean =>
  (!statuses || statuses.has(row.status)) &&
  (!selectors ||
    selectors.some(
      ({ name = row.workflow, hash = row.hash }) => name === row.workflow && hash === row.hash,
    ));

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
  const { statuses, selectors, words } = filter;
  // Only a whole log shows whether it is corrupt.
  if (statuses?.has("corrupt")) return null;
  const isSearch = words.length > 0;
  const isWorthwhile = () => isSearch && allThreads(root).length >= worthIndexing;
  if (!index.exists && !isWorthwhile()) return null;
  const most = isSearch ? Number.POSITIVE_INFINITY : mostAtOnce;
  if (!(await index.refresh({ most, texts: isSearch }))) return null;
  const hashes = selectors?.map(({ name, hash }) => (name === undefined ? hash : undefined));
  const isCounted = !statuses && !isSearch && !hashes?.includes(undefined);
  const live = new LiveWorkers(root);
  const rows: ThreadRow[] = [];
  let passed = 0;
  let isMore = false;
  try {
    const total = isCounted ? index.count((hashes as string[] | undefined) ?? null) : null;
    for (const entry of index.candidates({ statuses, selectors, words, before })) {
      isMore = rows.length >= limit;
      if (isMore && (isCounted || !paged)) break;
      const driven = !entry.isOver && (await live.find(entry)) !== null;
      const isStored = !driven && index.isFresh(entry);
      const row = isStored
        ? entry.row && rowAt(entry.row, system.clock.now())
        : await readRow(root, entry, live);
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

/** The number of logs from which a list uses an index. */
export const worthIndexing = 1_000;

/** Maximum number of logs to read for a list without a search. For more logs, listing without the index is faster. */
const mostAtOnce = 200;

/** A thread's row for the index, without the state of a worker that may drive it. */
export function readIndexed(root: Root, ref: ThreadRef): IndexedRow | null {
  try {
    const log = outlineLog(dataPath(root, ref.hash, ref.threadId));
    if (log.kind === "empty") return null;
    if (log.kind === "headless") return { ...unknownRow(ref), isOver: false };
    const noted = notedOf(root, ref);
    const state = statusOf(log, null, noted);
    return {
      ...rowFrom(ref, log, state, noted.movedTo),
      isOver: log.end !== null && state.status !== "corrupt",
    };
  } catch {
    return { ...unknownRow(ref), isOver: false };
  }
}

/** Whether a thread matches by the first and last line of its log; `maybe` requires reading the whole log. */
async function prefilter(
  root: Root,
  ref: ThreadRef,
  { statuses, selectors }: Filter,
  live: LiveWorkers,
): Promise<"no" | "yes" | "maybe"> {
  if (!statuses && !selectors) return "yes";
  const path = dataPath(root, ref.hash, ref.threadId);
  const here = selectors?.filter(({ hash }) => hash === undefined || hash === ref.hash);
  const names = here?.some(({ name }) => name === undefined) ? null : here?.map(({ name }) => name);
  try {
    if (names && !names.includes(readStart(path)?.name)) return "no";
    if (names && !statuses) return "yes";
    // Only a whole log shows whether it is corrupt.
    if (statuses?.has("corrupt")) return "maybe";
    const found = readLast(path);
    if (found.kind !== "record") return found.kind === "empty" ? "no" : "maybe";
    if (!statuses) return "yes";
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

/** The row of a thread, or null when it never started or was removed. */
export async function readRow(
  root: Root,
  ref: ThreadRef,
  live = new LiveWorkers(root),
): Promise<ThreadRow | null> {
  const { threadId, hash } = ref;
  try {
    const { log, driver } = await readDriven(root, ref, outlineLog, live);
    if (log.kind === "empty") return null;
    if (log.kind === "thread") {
      const noted = notedOf(root, ref);
      const row = rowFrom({ threadId, hash }, log, statusOf(log, driver, noted), noted.movedTo);
      return rowAt(row, system.clock.now());
    }
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
  }
  return unknownRow(ref);
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
