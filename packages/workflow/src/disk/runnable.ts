import type { ThreadRef } from "../record/thread.ts";
import type { RunnableOptions, ThreadInfo } from "../store/store.ts";
import { addDue, listDue, removeDue } from "./due.ts";
import type { Root } from "./paths.ts";
import { isPostponed } from "./postponed.ts";

/** Knowledge of a storage root's store about its threads. */
export type KnownThreads = {
  info: (ref: ThreadRef) => ThreadInfo | null;
  list: () => Promise<ThreadInfo[]>;
  /** Whether another process drives the threads of a bundle. */
  isHeldElsewhere: (hash: string) => boolean;
};

/** Lists the threads that a worker may drive now. @see ThreadStore.runnable */
export async function runnableThreads(
  root: Root,
  { now, limit, hashes, onlyDue = false }: RunnableOptions,
  known: KnownThreads,
): Promise<ThreadInfo[]> {
  const held = new Map<string, boolean>();
  const isFree = (info: ThreadInfo): boolean => {
    const { hash, paused, owner, movedTo } = info;
    if (paused || owner !== null || movedTo !== null) return false;
    if (hashes !== undefined && !hashes.includes(hash)) return false;
    if (!held.has(hash)) held.set(hash, known.isHeldElsewhere(hash));
    return held.get(hash) === false && !isPostponed(root, info, now);
  };
  const due: ThreadInfo[] = [];
  for (const entry of listDue(root, now)) {
    if (due.length >= limit) break;
    const info = known.info(entry);
    const at = info?.state.kind === "waiting" ? info.state.dueAt : null;
    // An entry may be older than the thread's log.
    if (at === null || at > now) correct(root, entry, at);
    else if (info && isFree(info)) due.push(info);
  }
  if (onlyDue || due.length >= limit) return due;
  const others = (await known.list()).filter(
    (info) => info.state.kind === "running" && isFree(info),
  );
  others.sort((a, b) => a.updatedAt - b.updatedAt);
  return [...due, ...others].slice(0, limit);
}

function correct(root: Root, entry: ThreadRef & { at: number }, at: number | null): void {
  if (at !== null && at !== entry.at) addDue(root, { ...entry, at });
  removeDue(root, entry);
}
