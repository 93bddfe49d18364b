import { loggedHashes } from "../storage/list.ts";
import { dataPath, type Root } from "../storage/paths.ts";
import { readLast } from "../log/log.ts";
import { readStart } from "../log/log.ts";
import { isEnd } from "../log/record.ts";
import { statusOf } from "../thread/status.ts";
import type { Status, ThreadRef } from "../thread/thread.ts";
import type { LiveLookup } from "./live.ts";
import type { Meant } from "./meant.ts";
import { sizeOf, threadsOf } from "./threads.ts";

/** What a thread must be to be listed; null where nothing is asked of it. */
export type Filter = {
  statuses: ReadonlySet<Status> | null;
  /** It is one of these. */
  meant: readonly Meant[] | null;
};

/** Whether the path of a log alone decides that it fits: no log need be read to count such threads. */
export const isByPlace = ({ statuses, meant }: Filter): boolean =>
  !statuses && (meant?.every(({ name }) => name === undefined) ?? true);

/** The threads whose logs lie where those that are meant do, in no order. */
export function placesOf(root: Root, { meant }: Filter): ThreadRef[] {
  const hashes = meant?.map(({ hash }) => hash) ?? [undefined];
  const all = hashes.includes(undefined)
    ? loggedHashes(root)
    : hashes.filter((one) => one !== undefined);
  return threadsOf(root, [...new Set(all)]);
}

/** Whether a thread fits, as far as the first and the last line of its log show; `maybe`: read it whole. */
export type Guess = "no" | "yes" | "maybe";

/** Looks at a thread as little as it must to pass it over. */
export async function guess(
  root: Root,
  ref: ThreadRef,
  { statuses, meant }: Filter,
  live: LiveLookup,
): Promise<Guess> {
  const path = dataPath(root, ref.hash, ref.threadId);
  const here = meant?.filter(({ hash }) => hash === undefined || hash === ref.hash);
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

function created(path: string): Guess {
  const { kind } = readLast(path);
  return kind === "empty" ? "no" : kind === "record" ? "yes" : "maybe";
}

async function ended(
  ref: ThreadRef,
  path: string,
  statuses: ReadonlySet<Status>,
  live: LiveLookup,
): Promise<Guess> {
  const found = readLast(path);
  if (found.kind !== "record") return found.kind === "empty" ? "no" : "maybe";
  const { record, size } = found;
  const end = record && isEnd(record) ? record : null;
  // What goes on while it is looked at is read whole.
  if (!end && ((await live.find(ref)) || sizeOf(path) !== size)) return "maybe";
  const last = record && !isEnd(record) ? record : null;
  return statuses.has(statusOf({ broken: null, end, last }, null).status) ? "maybe" : "no";
}
