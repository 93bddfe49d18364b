import { basename, join } from "node:path";
import { messageOf } from "../../contract/error.ts";
import type { CollectOptions, Garbage, Problem } from "../../host/host.ts";
import { findOwn, withRegistryLock } from "../../registry/change.ts";
import { hashesOf } from "../../registry/versions.ts";
import { removeRunFolder, runFolder, runFolders } from "../../sandbox/run-folder.ts";
import { diskError, systemCode } from "../../disk/disk-error.ts";
import { takeLock } from "../../disk/lock.ts";
import {
  blobFolders,
  bundleFiles,
  bundlesDir,
  isSharedFile,
  lockPath,
  loggedHashes,
  logsDir,
  namesIn,
  type Root,
  registryPath,
  runDir,
  storedHashes,
  threadIdsOf,
  threadsDir,
  trashDir,
} from "../../disk/paths.ts";
import { isThreadId } from "../../contract/names.ts";
import { emptyFolders, finishRemovals, makeOwnFolder, trashedThreads } from "../../disk/trash.ts";
import { worktreesDir } from "../../disk/worktrees.ts";
import { system } from "../../system/system.ts";
import { threadWithId } from "../../disk/threads.ts";
import type { Status } from "../../record/thread.ts";
import { readView } from "../threads/view.ts";
import { leftWorktrees, removeWorktrees } from "./worktrees.ts";
import { registeredBundleMissing } from "../errors.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const weekMs = 7 * dayMs;

/**
 * Collects bundles that were stored more than an hour ago and that no name, history, thread or live worker uses, and
 * files older than an hour that crashes left behind. `dryRun` reports them and writes nothing.
 *
 * Bundles go to `trash/<time>-<hash>/`; a `gc` at least a day later deletes them. The collection holds the registry's
 * lock, so that no `add` runs concurrently, and each bundle's hash lock while it moves the bundle, so that no worker
 * starts to use the bundle. An error does not undo earlier deletions.
 */
export async function collectGarbage(
  root: Root,
  { dryRun = false, trash = false, now = system.clock.now() }: CollectOptions = {},
): Promise<Garbage> {
  try {
    if (dryRun || !system.files.exists(root))
      return await collect(root, { now, trash, act: false });
    return await withRegistryLock(root, () => collect(root, { now, trash, act: true }));
  } catch (error) {
    throw systemCode(error) === null ? error : diskError(error, "collect garbage in", root);
  }
}

type Collecting = { now: number; trash: boolean; act: boolean };

async function collect(root: Root, { now, trash, act }: Collecting): Promise<Garbage> {
  const needed = hashesOf(findOwn(root).registry);
  checkComplete(root, needed);
  if (act) finishRemovals(root);
  const left = [...findLeftovers(root, now - hourMs), ...unusedValues(root, now - dayMs)];
  const leftovers = left.filter((one) => !act || clear(root, one));
  const dead = new Set(leftovers.map(({ path }) => path));
  for (const hash of loggedHashes(root)) {
    const folder = threadsDir(root, hash);
    const isDead = (id: string) => dead.has(join(folder, `${id}.data.jsonl`));
    if (!threadIdsOf(root, hash).every(isDead)) needed.add(hash);
  }
  const emptied = emptyTrash(root, now - dayMs, act);
  const removal = new WorktreeRemoval(root, act);
  if (trash) emptied.push(...(await emptyThreads(root, now - weekMs, removal)));
  const trashed = trashedThreads(root).filter(({ folder }) => !emptied.includes(folder));
  for (const { hash } of trashed) needed.add(hash);
  for (const threadId of leftWorktrees(root, now - hourMs)) {
    if (await removal.of(threadId)) dead.add(worktreesDir(root, threadId));
  }
  for (const path of await endedRunFolders(root)) {
    if (act) removeRunFolder(path);
    dead.add(path);
  }
  const garbage: Garbage = {
    removed: [],
    kept: 0,
    bytes: leftovers.reduce((sum, { bytes }) => sum + bytes, 0),
    leftovers: [...dead],
    emptied,
    problems: removal.problems,
  };
  for (const [hash, files] of bundleFiles(root)) {
    const bytes = files.reduce((sum, path) => sum + (stat(path)?.size ?? 0), 0);
    const take = () => !act || discard(root, hash, files, now);
    // The client that stored the bundle may be about to name or start it.
    const isFresh = files.some((path) => (stat(path)?.mtimeMs ?? 0) >= now - hourMs);
    if (isFresh || needed.has(hash) || !withHash(root, hash, act, take)) garbage.kept += 1;
    else {
      garbage.removed.push(hash);
      garbage.bytes += bytes;
    }
  }
  return garbage;
}

// If a hash in the registry is damaged, its bundle looks like garbage.
function checkComplete(root: Root, registered: ReadonlySet<string>): void {
  const stored = new Set(storedHashes(root));
  const lost = [...registered].find((hash) => !stored.has(hash));
  if (lost === undefined) return;
  throw registeredBundleMissing(registryPath(root), lost);
}

/** Runs `work` while the hash has no live worker; returns false when it has a live worker. */
function withHash(root: Root, hash: string, act: boolean, work: () => boolean): boolean {
  const path = lockPath(root, hash);
  // A missing lock file means that no worker runs, and a dry run must not create the file.
  if (!act && !system.files.exists(path)) return work();
  const lock = takeLock(path, 0);
  if (!lock) return false;
  try {
    return work();
  } finally {
    lock.release();
  }
}

function clear(root: Root, { path, hash }: Leftover): boolean {
  const remove = () => {
    if (stat(path)?.isDirectory()) system.files.removeTree(path);
    else system.files.remove(path);
    return true;
  };
  return hash === null ? remove() : withHash(root, hash, true, remove);
}

/** Removes the worktrees of removed threads. The next gc retries a failed removal. */
class WorktreeRemoval {
  readonly problems: Problem[] = [];
  readonly acts: boolean;
  readonly #root: Root;

  constructor(root: Root, acts: boolean) {
    this.#root = root;
    this.acts = acts;
  }

  /** Returns whether the thread's worktrees are removed, or would be in a dry run. */
  async of(threadId: string): Promise<boolean> {
    if (!this.acts) return true;
    const path = worktreesDir(this.#root, threadId);
    try {
      await removeWorktrees(this.#root, threadId);
      return true;
    } catch (error) {
      this.problems.push({ path, message: messageOf(diskError(error, "remove", path)) });
      return false;
    }
  }
}

/** Cache folders of this root's ended threads. Other folders may belong to other roots. */
async function endedRunFolders(root: Root): Promise<string[]> {
  const paths: string[] = [];
  for (const name of runFolders(process.env).filter((one) => isThreadId(one))) {
    const ref = threadWithId(root, name);
    const status = ref && (await readView(root, ref).catch(() => null))?.status;
    if (status && finalStatuses.includes(status)) paths.push(runFolder(process.env, name));
  }
  return paths;
}

const finalStatuses: readonly Status[] = ["completed", "failed", "killed"];

/** Moves a bundle's files to the trash, unless a thread has started meanwhile. */
function discard(root: Root, hash: string, files: string[], now: number): boolean {
  if (threadIdsOf(root, hash).length > 0) return false;
  const folder = join(trashDir(root), `${now}-${hash}`);
  makeOwnFolder(trashDir(root));
  makeOwnFolder(folder);
  for (const path of files) {
    try {
      system.files.rename(path, join(folder, basename(path)));
    } catch (error) {
      throw diskError(error, "move to the trash", path);
    }
  }
  for (const changed of [folder, trashDir(root), bundlesDir(root)])
    system.files.syncFolder(changed);
  try {
    system.files.removeFolder(threadsDir(root, hash));
  } catch {
    // Some files may remain; the next `gc` handles them.
  }
  for (const name of namesIn(runDir(root))) {
    if (name.startsWith(`${hash}.`)) system.files.remove(join(runDir(root), name));
  }
  return true;
}

/** Whether a name is a trash folder: its time in milliseconds and the hash. */
export const isTrash = (name: string): boolean => /^\d{1,16}-[0-9A-Z]{13}$/.test(name);

/** Deletes bundles moved to the trash before the given time (milliseconds). */
function emptyTrash(root: Root, before: number, act: boolean): string[] {
  const old = namesIn(trashDir(root))
    .filter((name) => isTrash(name) && Number.parseInt(name, 10) < before)
    .map((name) => join(trashDir(root), name));
  if (act) for (const folder of old) system.files.removeTree(folder);
  return old;
}

/** Deletes threads moved to the trash before the given time (milliseconds), with their worktrees. */
async function emptyThreads(
  root: Root,
  before: number,
  removal: WorktreeRemoval,
): Promise<string[]> {
  const emptied: string[] = [];
  for (const { at, threadId, folder } of trashedThreads(root)) {
    if (at >= before) continue;
    const isOther = threadWithId(root, threadId) !== null;
    if (!isOther && !(await removal.of(threadId))) continue;
    if (removal.acts) system.files.removeTree(folder);
    emptied.push(folder);
  }
  return emptied;
}

/**
 * An unused file left by a crash, or the blobs of a removed thread. Deleting it requires the lock of `hash`, if set.
 */
type Leftover = { path: string; bytes: number; hash: string | null };

/** Whether a name is a temporary file of `writeFileAtomic`. */
export const isAside = (name: string): boolean => /^\..+\.[0-9a-f]{8}\.tmp$/.test(name);

/**
 * Files that crashes left behind, untouched since `before` (milliseconds): partly written files, logs of threads that
 * never started, and the files beside a missing log.
 */
function findLeftovers(root: Root, before: number): Leftover[] {
  const folders = [root, bundlesDir(root), logsDir(root), runDir(root)];
  return [
    ...folders.flatMap((folder) => asideFiles(folder, null, before)),
    ...emptyFolders(root).flatMap((folder) => leftover(folder, null, before)),
    ...loggedHashes(root).flatMap((hash) => [
      ...asideFiles(threadsDir(root, hash), hash, before),
      ...blobFolders(root, hash).flatMap((folder) => asideFiles(folder, hash, before)),
      ...deadLogs(threadsDir(root, hash), hash, before),
    ]),
  ];
}

/** Shared values unchanged since a time, such as rate limits of unused API keys. */
const unusedValues = (root: Root, before: number): Leftover[] =>
  namesIn(runDir(root))
    .filter(isSharedFile)
    .flatMap((name) => leftover(join(runDir(root), name), null, before));

const asideFiles = (folder: string, hash: string | null, before: number): Leftover[] =>
  namesIn(folder)
    .filter(isAside)
    .flatMap((name) => leftover(join(folder, name), hash, before));

function deadLogs(folder: string, hash: string, before: number): Leftover[] {
  const threads = Map.groupBy(
    namesIn(folder).filter((name) => isThreadId(name.slice(0, 26)) && name[26] === "."),
    (name) => name.slice(0, 26),
  );
  return [...threads].flatMap(([threadId, names]) => {
    if (stat(join(folder, `${threadId}.data.jsonl`))?.size) return [];
    const dead = names.flatMap((name) => leftover(join(folder, name), hash, before));
    return dead.length === names.length ? dead : [];
  });
}

function leftover(path: string, hash: string | null, before: number): Leftover[] {
  const found = stat(path);
  if (!found || found.mtimeMs >= before) return [];
  if (found.isFile()) return [{ path, bytes: found.size, hash }];
  if (!found.isDirectory()) return [];
  const sizes = namesIn(path).map((name) => stat(join(path, name))?.size ?? 0);
  return [{ path, bytes: sizes.reduce((sum, size) => sum + size, 0), hash }];
}

const stat = (path: string) => system.files.statLink(path);
