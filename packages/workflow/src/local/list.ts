import { statSync } from "node:fs";
import type { ThreadPage, ThreadQuery } from "../host/host.ts";
import { outlineLog, readLast, readStart } from "../log/log.ts";
import { isEnd } from "../log/record.ts";
import { readRegistry } from "../registry/read.ts";
import type { Registry } from "../registry/registry.ts";
import { ambiguousHash, hashesOf, versionsOf } from "../registry/versions.ts";
import { systemCode } from "../storage/disk-error.ts";
import {
  dataPath,
  isHash,
  isHashPrefix,
  loggedHashes,
  type Root,
  storedHashes,
} from "../storage/paths.ts";
import {
  isMoving,
  type Status,
  statusOf,
  type ThreadRef,
  type ThreadRow,
} from "../thread/thread.ts";
import { type Alive, listLive, LiveWorkers } from "./live.ts";
import { sizeOf, threadsOf, timeOf } from "./threads.ts";

const defaultLimit = 20;
/** How long a list may keep others waiting, in milliseconds. */
const restEveryMs = 8;

/**
 * A page of threads, newest first (20 without a limit). Only the logs of the page are read whole; of
 * those that a filter passes over the first line or the last, unless it asks for the corrupt. What can't
 * be read is listed as `corrupt`.
 *
 * @throws WorkflowError `VERSION_AMBIGUOUS` (usage): the workflow is the prefix of several hashes.
 */
export async function listThreads(root: Root, options: ThreadQuery = {}): Promise<ThreadPage> {
  const { limit = defaultLimit, offset = 0, paged = true } = options;
  const search = await searchFor(root, options);
  const { total, left, refs } = search;
  const rows: ThreadRow[] = [];
  for await (const row of rowsOf(search)) {
    if (rows.length >= limit) return { rows, total, next: rows.at(-1)?.threadId ?? null };
    rows.push(row);
    if (rows.length >= limit && !paged) return { rows, total, next: null };
    if (total !== null && rows.length >= limit) break;
  }
  const isLast = total === null || offset + limit >= left;
  // Some of the threads may not have been created yet.
  const last = rows.length < limit ? refs.at(-1) : rows.at(-1);
  return { rows, total, next: isLast ? null : (last?.threadId ?? null) };
}

type Search = {
  root: Root;
  filter: Filter;
  /** Newest first. */
  refs: readonly ThreadRef[];
  total: number | null;
  /** How many may fit from where the list begins. */
  left: number;
  offset: number;
};

async function searchFor(root: Root, options: ThreadQuery): Promise<Search> {
  const { limit = defaultLimit, offset = 0, before, status, workflow } = options;
  const statuses = status === undefined ? null : new Set([status].flat());
  const filter = { statuses, selectors: workflow ? await selectorsOf(root, workflow) : null };
  // Only a worker makes a thread run: whose threads are wanted is asked, and no log is read in vain.
  const all =
    statuses && [...statuses].every(isMoving) ? await listLive(root) : candidatesOf(root, filter);
  const total = needsNoLog(filter) ? all.length : null;
  const refs = before === undefined ? all : all.filter(({ threadId }) => threadId < before);
  const left = refs.length;
  const most = statuses || workflow ? null : offset + limit;
  return { root, filter, refs: newestFirst(refs, most), total, left, offset };
}

async function* rowsOf({ root, filter, refs, offset }: Search): AsyncGenerator<ThreadRow> {
  const live = new LiveWorkers(root);
  const isFiltered = filter.statuses !== null || filter.selectors !== null;
  let passed = 0;
  let restedAt = performance.now();
  for (const ref of refs) {
    // A filter may pass over very many: a server has others to answer in between.
    if (performance.now() - restedAt > restEveryMs) {
      await new Promise(setImmediate);
      restedAt = performance.now();
    }
    const found = isFiltered ? await prefilter(root, ref, filter, live) : "yes";
    if (found === "no") continue;
    if (found === "yes" && passed < offset) {
      passed += 1;
      continue;
    }
    const row = await readRow(root, ref, live);
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

/** The row of one thread, or null when it never began or has been removed. */
export async function readRow(
  root: Root,
  ref: ThreadRef,
  live = new LiveWorkers(root),
): Promise<ThreadRow | null> {
  const path = dataPath(root, ref.hash, ref.threadId);
  try {
    let log = outlineLog(path);
    let alive: Alive | null = null;
    if (log.kind === "outline" && !log.end && !log.broken) {
      alive = await live.find(ref);
      if (sizeOf(path) !== log.size + log.torn) log = outlineLog(path);
    }
    const { mtimeMs } = statSync(path);
    if (log.kind === "empty") return null;
    if (log.kind === "headless") return corruptRow(ref, mtimeMs);
    const { start, end, last } = log;
    return {
      threadId: ref.threadId,
      workflow: start.name,
      hash: ref.hash,
      status: statusOf(log, alive).status,
      steps: log.steps,
      createdAt: start.timestamp,
      updatedAt: (end ?? last ?? start).timestamp,
    };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    return corruptRow(ref, timeOf(ref.threadId));
  }
}

function corruptRow({ threadId, hash }: ThreadRef, updatedAt: number): ThreadRow {
  const createdAt = timeOf(threadId);
  return { threadId, workflow: "", hash, status: "corrupt", steps: 0, createdAt, updatedAt };
}

/** Newest first; with `most`, only so many, which spares sorting them all. */
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

/** What a thread must be to be listed; null where nothing is asked of it. */
export type Filter = {
  statuses: ReadonlySet<Status> | null;
  /** It is one of these. */
  selectors: readonly Selector[] | null;
};

/** Whether the path of a log alone decides that it matches: no log need be read to count such threads. */
export const needsNoLog = ({ statuses, selectors }: Filter): boolean =>
  !statuses && (selectors?.every(({ name }) => name === undefined) ?? true);

/** The threads that the selectors may select, by the paths of their logs, in no order. */
export function candidatesOf(root: Root, { selectors }: Filter): ThreadRef[] {
  const hashes = selectors?.map(({ hash }) => hash) ?? [undefined];
  const all = hashes.includes(undefined)
    ? loggedHashes(root)
    : hashes.filter((one) => one !== undefined);
  return threadsOf(root, [...new Set(all)]);
}

/** Whether a thread matches, as far as the first and the last line of its log show; `maybe`: read it whole. */
export type Prefilter = "no" | "yes" | "maybe";

/** Looks at a thread as little as it must to pass it over. */
export async function prefilter(
  root: Root,
  ref: ThreadRef,
  { statuses, selectors }: Filter,
  live: LiveWorkers,
): Promise<Prefilter> {
  const path = dataPath(root, ref.hash, ref.threadId);
  const here = selectors?.filter(({ hash }) => hash === undefined || hash === ref.hash);
  const names = here?.some(({ name }) => name === undefined) ? null : here?.map(({ name }) => name);
  try {
    if (names && !names.includes(readStart(path)?.name)) return "no";
    if (!statuses) return names ? "yes" : created(path);
    // Any log may be broken, and only the whole log shows it.
    return statuses.has("corrupt") ? "maybe" : await ended(ref, path, statuses, live);
  } catch {
    return "maybe";
  }
}

function created(path: string): Prefilter {
  const { kind } = readLast(path);
  return kind === "empty" ? "no" : kind === "record" ? "yes" : "maybe";
}

async function ended(
  ref: ThreadRef,
  path: string,
  statuses: ReadonlySet<Status>,
  live: LiveWorkers,
): Promise<Prefilter> {
  const found = readLast(path);
  if (found.kind !== "record") return found.kind === "empty" ? "no" : "maybe";
  const { record, size } = found;
  const end = record && isEnd(record) ? record : null;
  // What goes on while it is looked at is read whole.
  if (!end && ((await live.find(ref)) || sizeOf(path) !== size)) return "maybe";
  const last = record && !isEnd(record) ? record : null;
  return statuses.has(statusOf({ broken: null, end, last }, null).status) ? "maybe" : "no";
}

/** Threads of this name, of this version, or of both. */
export type Selector = { name?: string; hash?: string };

/**
 * The threads that a text selects: those of a name, `name@hash`, a hash, or a unique prefix of one, of
 * at least 4 digits when it stands alone. A name goes before a hash. One that is not registered may have
 * been: its threads are still there.
 *
 * @throws WorkflowError `VERSION_AMBIGUOUS` (usage).
 */
export async function selectorsOf(root: Root, text: string): Promise<Selector[]> {
  // Threads are listed also where the registry can't be read.
  const registry: Registry = await readRegistry(root).catch(() => new Map());
  const at = text.indexOf("@");
  if (at > 0) return versionSelectors(root, registry, text.slice(0, at), text.slice(at + 1));
  const digits = text.toUpperCase();
  if (registry.has(text) || !isHashPrefix(digits)) return [{ name: text }];
  if (isHash(digits)) return [{ hash: digits }];
  const known = [...hashesOf(registry), ...storedHashes(root)];
  const hash = onlyOne(text, withPrefix(digits, [...known, ...loggedHashes(root)]));
  return hash === undefined ? [{ name: text }] : [{ name: text }, { hash }];
}

function versionSelectors(root: Root, registry: Registry, name: string, text: string): Selector[] {
  const digits = text.toUpperCase();
  if (digits === "") return [];
  const workflow = registry.get(name);
  const versions = workflow ? versionsOf(workflow).map(({ hash }) => hash) : [];
  const hash = onlyOne(text, withPrefix(digits, versions));
  if (hash !== undefined) return [{ name, hash }];
  return withPrefix(digits, loggedHashes(root)).map((logged) => ({ name, hash: logged }));
}

const withPrefix = (digits: string, hashes: readonly string[]): string[] =>
  [...new Set(hashes)].filter((hash) => hash.startsWith(digits)).sort();

function onlyOne(text: string, hashes: string[]): string | undefined {
  if (hashes.length > 1) throw ambiguousHash(text, hashes);
  return hashes[0];
}
