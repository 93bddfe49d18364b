import type { ThreadFilter } from "../../host/host.ts";
import { type Root, threadIdsOf } from "../../disk/paths.ts";
import {
  HourSums,
  type ThreadSummary,
  type VersionFigures,
  VersionSums,
} from "../../record/figures.ts";
import { matches } from "../../record/filter.ts";
import { system } from "../../system/system.ts";
import { LiveWorkers } from "../workers/live.ts";
import { type Filter, filterOf, isWorthIndexing, rowOf, rowsOf } from "./list.ts";
import { readIndexed } from "./row.ts";
import type { ThreadIndex } from "./thread-index.ts";
import { allThreads } from "./view.ts";

/** Returns the figures of the selected threads. @throws WorkflowError `VERSION_AMBIGUOUS` (usage). @see Host.summary */
export async function summaryOf(
  root: Root,
  query: ThreadFilter,
  index: ThreadIndex,
): Promise<ThreadSummary> {
  const filter = await filterOf(root, query);
  const found = await withIndex(root, index, false, () => indexedSummary(root, index, filter));
  if (found) return found;
  const sums = new HourSums();
  for await (const row of rowsOf(root, allThreads(root), filter, 0)) {
    sums.add({ ...row, cost: row.spent.cost });
  }
  return sums.summary;
}

async function indexedSummary(
  root: Root,
  index: ThreadIndex,
  filter: Filter,
): Promise<ThreadSummary> {
  const sums = new HourSums();
  const isSearch = filter.words.length > 0;
  if (!isSearch) for (const row of index.figures(filter)) sums.add(row);
  const live = new LiveWorkers(root);
  const rest = isSearch ? index.candidates({ ...filter, before: undefined }) : index.open();
  for (const entry of rest) {
    const row = await rowOf(root, index, entry, live);
    if (row && matches(row, filter)) sums.add({ ...row, cost: row.spent.cost });
  }
  return sums.summary;
}

/** The figures of a version's threads. @see Host.history */
export async function figuresOf(
  root: Root,
  hash: string,
  index: ThreadIndex | null,
): Promise<VersionFigures> {
  const found = index && (await withIndex(root, index, true, () => indexedFigures(hash, index)));
  if (found) return found;
  const sums = new VersionSums();
  for (const threadId of threadIdsOf(root, hash)) {
    const thread = readIndexed(root, { hash, threadId });
    if (thread) sums.add(thread.row, thread.figures);
    await system.clock.turn();
  }
  return sums.figures(system.clock.now());
}

async function indexedFigures(hash: string, index: ThreadIndex): Promise<VersionFigures> {
  const sums = new VersionSums();
  for (const entries of index.version(hash)) {
    for (const { row, figures } of entries) if (row) sums.add(row, figures);
    await system.clock.turn();
  }
  return sums.figures(system.clock.now());
}

/** Computes figures with an index that is up to date; null when it can't be used. */
async function withIndex<Figures>(
  root: Root,
  index: ThreadIndex,
  open: boolean,
  compute: () => Promise<Figures>,
): Promise<Figures | null> {
  if (!index.exists && !isWorthIndexing(root)) return null;
  if (!(await index.refresh({ most: Number.POSITIVE_INFINITY, open }))) return null;
  try {
    return await compute();
  } catch {
    // The next refresh rebuilds a broken index.
    index.close();
    return null;
  }
}
