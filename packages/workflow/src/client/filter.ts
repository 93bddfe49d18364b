import { hashesOf } from "../registry/resolve.ts";
import { readRegistry } from "../registry/read.ts";
import type { Registry } from "../registry/registry.ts";
import { ambiguousHash, versionsOf } from "../registry/versions.ts";
import { loggedHashes, storedHashes, threadIdsOf } from "../storage/list.ts";
import { isHash } from "../storage/names.ts";
import { dataPath, type Root } from "../storage/paths.ts";
import { readLast } from "../thread-log/last.ts";
import { readStart } from "../thread-log/read.ts";
import { isEnd } from "../thread-log/record.ts";
import { statusOf } from "../thread/status.ts";
import type { Status, ThreadRef } from "../thread/thread.ts";
import type { LiveLookup } from "./live.ts";
import { sizeOf } from "./threads.ts";

/** Threads of this name, of this version, or of both. */
type Meant = { name?: string; hash?: string };

/** What a thread must be to be listed; null where nothing is asked of it. */
export type Filter = {
  statuses: ReadonlySet<Status> | null;
  /** It is one of these. */
  meant: readonly Meant[] | null;
};

const hashBeginning = /^[0-9A-HJKMNP-TV-Z]{4,13}$/;

/**
 * The threads that a text means: those of a name, `name@hash`, a hash, or a unique beginning of one, of
 * at least 4 digits when it stands alone. A name goes before a hash. One that is not registered may have
 * been: its threads are still there.
 *
 * @throws WorkflowError `VERSION_AMBIGUOUS` (usage).
 */
export async function meantBy(root: Root, text: string): Promise<Meant[]> {
  // Threads are listed also where the registry can't be read.
  const registry: Registry = await readRegistry(root).catch(() => new Map());
  const at = text.indexOf("@");
  if (at > 0) return versionsMeant(root, registry, text.slice(0, at), text.slice(at + 1));
  const digits = text.toUpperCase();
  if (registry.has(text) || !hashBeginning.test(digits)) return [{ name: text }];
  if (isHash(digits)) return [{ hash: digits }];
  const known = [...hashesOf(registry), ...storedHashes(root)];
  const hash = onlyOne(text, beginningWith(digits, [...known, ...loggedHashes(root)]));
  return hash === undefined ? [{ name: text }] : [{ name: text }, { hash }];
}

function versionsMeant(root: Root, registry: Registry, name: string, text: string): Meant[] {
  const digits = text.toUpperCase();
  if (digits === "") return [];
  const workflow = registry.get(name);
  const versions = workflow ? versionsOf(workflow).map(({ hash }) => hash) : [];
  const hash = onlyOne(text, beginningWith(digits, versions));
  if (hash !== undefined) return [{ name, hash }];
  return beginningWith(digits, loggedHashes(root)).map((logged) => ({ name, hash: logged }));
}

const beginningWith = (digits: string, hashes: readonly string[]): string[] =>
  [...new Set(hashes)].filter((hash) => hash.startsWith(digits)).sort();

function onlyOne(text: string, hashes: string[]): string | undefined {
  if (hashes.length > 1) throw ambiguousHash(text, hashes);
  return hashes[0];
}

/** Whether the place of a log alone tells that it fits: no log need be read to count such threads. */
export const isByPlace = ({ statuses, meant }: Filter): boolean =>
  !statuses && (meant?.every(({ name }) => name === undefined) ?? true);

/** The threads whose logs lie where those that are meant do, in no order. */
export function placesOf(root: Root, { meant }: Filter): ThreadRef[] {
  const hashes = meant?.map(({ hash }) => hash) ?? [undefined];
  const all = hashes.includes(undefined)
    ? loggedHashes(root)
    : hashes.filter((one) => one !== undefined);
  return [...new Set(all)].flatMap((hash) =>
    threadIdsOf(root, hash).map((threadId) => ({ hash, threadId })),
  );
}

/** Whether a thread fits, as far as the first and the last line of its log tell; `maybe`: read it whole. */
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
    if (!statuses) return names ? "yes" : born(path);
    // Any log may be broken, and none but the whole log tells.
    return statuses.has("corrupt") ? "maybe" : await ended(ref, path, statuses, live);
  } catch {
    return "maybe";
  }
}

function born(path: string): Guess {
  const { kind } = readLast(path);
  return kind === "unborn" ? "no" : kind === "record" ? "yes" : "maybe";
}

async function ended(
  ref: ThreadRef,
  path: string,
  statuses: ReadonlySet<Status>,
  live: LiveLookup,
): Promise<Guess> {
  const last = readLast(path);
  if (last.kind !== "record") return last.kind === "unborn" ? "no" : "maybe";
  const { record, length } = last;
  const end = record && isEnd(record) ? record : null;
  // What goes on while it is looked at is read whole.
  if (!end && ((await live.find(ref)) || sizeOf(path) !== length)) return "maybe";
  const lastRole = record?.role ?? null;
  return statuses.has(statusOf({ broken: null, end, lastRole }, null)) ? "maybe" : "no";
}
