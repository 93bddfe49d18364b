import { statSync } from "node:fs";
import { systemCode } from "../storage/disk-error.ts";
import { dataPath, type Root } from "../storage/paths.ts";
import { outlineLog } from "../log/log.ts";
import { isMoving, statusOf } from "../thread/status.ts";
import type { ThreadPage, ThreadQuery } from "../host/host.ts";
import type { ThreadRef, ThreadRow } from "../thread/thread.ts";
import { type Filter, guess, isByPlace, placesOf } from "./filter.ts";
import { type Alive, listLive, LiveLookup } from "./live.ts";
import { meantBy } from "./meant.ts";
import { sizeOf, timeOf } from "./threads.ts";

const defaultLimit = 20;
/** How long a list may keep others waiting, in milliseconds. */
const restEveryMs = 8;

/**
 * A page of threads, newest first (20 without a limit). Only the logs of the page are read whole; of
 * those that a filter passes over the first line or the last, unless it asks for the corrupt. What can't
 * be read is listed as `corrupt`.
 *
 * @throws WorkflowError `VERSION_AMBIGUOUS` (usage): the workflow is the beginning of several hashes.
 */
export async function listThreads(root: Root, options: ThreadQuery = {}): Promise<ThreadRow[]> {
  const { limit = defaultLimit } = options;
  const rows: ThreadRow[] = [];
  for await (const row of rowsOf(await searchFor(root, options))) {
    rows.push(row);
    if (rows.length >= limit) break;
  }
  return rows;
}

/** As {@link listThreads}, with how many there are and where the next page begins. */
export async function pageThreads(root: Root, options: ThreadQuery = {}): Promise<ThreadPage> {
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
  // Of what was looked at some may not have been born.
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
  const filter = { statuses, meant: workflow ? await meantBy(root, workflow) : null };
  // Only a worker makes a thread run: whose threads are wanted is asked, and no log is read in vain.
  const all =
    statuses && [...statuses].every(isMoving) ? await listLive(root) : placesOf(root, filter);
  const total = isByPlace(filter) ? all.length : null;
  const refs = before === undefined ? all : all.filter(({ threadId }) => threadId < before);
  const left = refs.length;
  const most = statuses || workflow ? null : offset + limit;
  return { root, filter, refs: newestFirst(refs, most), total, left, offset };
}

async function* rowsOf({ root, filter, refs, offset }: Search): AsyncGenerator<ThreadRow> {
  const live = new LiveLookup(root);
  const isFiltered = filter.statuses !== null || filter.meant !== null;
  let passed = 0;
  let restedAt = performance.now();
  for (const ref of refs) {
    // A filter may pass over very many: a server has others to answer in between.
    if (performance.now() - restedAt > restEveryMs) {
      await new Promise(setImmediate);
      restedAt = performance.now();
    }
    const guessed = isFiltered ? await guess(root, ref, filter, live) : "yes";
    if (guessed === "no") continue;
    if (guessed === "yes" && passed < offset) {
      passed += 1;
      continue;
    }
    const row = await readRow(root, ref, live);
    if (!row || !fits(row, filter)) continue;
    if (passed < offset) passed += 1;
    else yield row;
  }
}

const fits = (row: ThreadRow, { statuses, meant }: Filter): boolean =>
  (!statuses || statuses.has(row.status)) &&
  (!meant ||
    meant.some(
      ({ name = row.workflow, hash = row.hash }) => name === row.workflow && hash === row.hash,
    ));

/** The row of one thread, or null when it never began or has been removed. */
export async function readRow(
  root: Root,
  ref: ThreadRef,
  live = new LiveLookup(root),
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
