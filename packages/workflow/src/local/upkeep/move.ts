import { join } from "node:path";
import { checkNotTwin, readBundle } from "../../bundle/store.ts";
import type { LeaveRequest } from "../../control/control.ts";
import type { Arrival, MoveOptions, MovingHost } from "../../host/move.ts";
import { outlineLog } from "../../disk/log.ts";
import { readRegistry } from "../../registry/read.ts";
import type { Workflow } from "../../registry/registry.ts";
import { takeVersions, workflowOf } from "../../registry/versions.ts";
import { blobIds } from "../../disk/blobs.ts";
import { addDue } from "../../disk/due.ts";
import { copyFileAtomic, makeFolder, removeFile, syncFolder } from "../../disk/files.ts";
import { identityOfRoot } from "../../disk/identity.ts";
import { readLocation, writeLocation } from "../../disk/location.ts";
import { type Location } from "../../control/control.ts";
import {
  blobsDir,
  bundlePath,
  dataPath,
  descriptorPath,
  infoPath,
  journalPath,
  loggedHashes,
  mapPath,
  type Root,
  threadsDir,
  typesPath,
  valuesPath,
} from "../../disk/paths.ts";
import { notePaused } from "../../disk/paused.ts";
import { createRoot, openRoot } from "../../disk/root.ts";
import { system } from "../../system/system.ts";
import { lastWakingTime, threadWithId } from "../../disk/threads.ts";
import { type ThreadRef } from "../../record/thread.ts";
import { withThreadId } from "../../disk/threads.ts";
import { readIndexed } from "../threads/row.ts";
import { ThreadIndex } from "../threads/thread-index.ts";
import { sha256 } from "../../record/sha256.ts";
import { changeProven } from "../workflows.ts";
import { askAgain } from "../workers/worker-client.ts";
import { movedLogTorn } from "../errors.ts";
import { corruptError, movedError } from "../../record/errors.ts";

/** Timeout of a move in milliseconds, enough for a very long thread and a distant cluster. */
const turnMs = 60 * 60_000;

/** Opens a storage root of the named machine for moves. */
export function movingRoot(path: string, machine: string): MovingHost {
  const root = openRoot({ path });
  return {
    identity: () => identityOfRoot(root, machine),
    async alone(threadId, act) {
      createRoot(root);
      return await withThreadId(root, threadId, act, turnMs);
    },
    async presence(threadId) {
      const ref = threadWithId(root, threadId) ?? arriving(root, threadId);
      return ref && { hash: ref.hash, location: readLocation(root, ref) };
    },
    files: async () => root,
    async bundle(hash) {
      await readBundle(root, hash);
      return root;
    },
    workflow: async (name) => workflowOf(await readRegistry(root), name, root),
    takeWorkflow: (name, workflow, force) => takeWorkflow(root, name, workflow, force),
    check: async () => undefined,
    takeBundle: (from, hash) => takeBundle(root, from as Root, hash),
    async leave(ref, to) {
      const { hash, threadId } = ref;
      const body: LeaveRequest = { to };
      const request = { method: "POST", path: `/threads/${threadId}/leave`, body } as const;
      const location = await askAgain<Location>(root, hash, request);
      await new ThreadIndex(root, (one) => readIndexed(root, one)).forget(ref);
      return location;
    },
    arrive: async (from, ref, arrival, options) =>
      arrive(root, from as Root, ref, arrival, options),
  };
}

/** Sets a name's versions to another host's versions. @throws WorkflowError `VERSION_CONFLICT`. */
export async function takeWorkflow(
  root: Root,
  name: string,
  workflow: Workflow,
  force: boolean,
): Promise<{ unchanged: boolean }> {
  const { unchanged } = await changeProven(root, (registry) =>
    takeVersions(registry, name, workflow, force),
  );
  return { unchanged };
}

/** Returns a thread that has a location here but no log yet; null if there is none. */
function arriving(root: Root, threadId: string): ThreadRef | null {
  const hash = loggedHashes(root).find((one) => readLocation(root, { hash: one, threadId }));
  return hash === undefined ? null : { hash, threadId };
}

/**
 * Copies the files beside a bundle, then the bundle.
 *
 * @throws WorkflowError `BUNDLE_MISSING`, `BUNDLE_CHANGED`; `HASH_COLLISION` when another bundle has the hash here
 */
export async function takeBundle(root: Root, from: Root, hash: string): Promise<void> {
  checkNotTwin(root, hash, sha256(await readBundle(from, hash)));
  createRoot(root);
  for (const path of [descriptorPath, typesPath, mapPath, bundlePath]) {
    const source = path(from, hash);
    if (system.files.exists(source)) copyFileAtomic(source, path(root, hash));
  }
  await readBundle(root, hash);
}

function arrive(
  root: Root,
  from: Root,
  ref: ThreadRef,
  { from: source, moves, paused }: Arrival,
  { onProgress }: MoveOptions,
): void {
  const { hash, threadId } = ref;
  const before = readLocation(root, ref);
  if (before && before.moves >= moves) {
    if (before.host) throw movedError(threadId, before.host.name);
    return;
  }
  createRoot(root);
  makeFolder(threadsDir(root, hash));
  // Until the last write, readers and a recovery after a crash see the thread on its old host, even if its log is here.
  const at = system.clock.now();
  if (!before) writeLocation(root, ref, { moves: moves - 1, host: source, at });
  const files = filesOf(root, from, ref);
  const all = files.reduce((sum, [path]) => sum + sizeOf(path), 0);
  let done = 0;
  for (const [path, copy] of files) {
    copyFileAtomic(path, copy);
    onProgress?.((done += sizeOf(path)), all);
  }
  checkLog(dataPath(root, hash, threadId));
  notePaused(root, ref, paused);
  syncFolder(threadsDir(root, hash));
  const wakes = lastWakingTime(root, ref);
  if (wakes !== null) addDue(root, { ...ref, at: wakes });
  writeLocation(root, ref, { moves, host: null, at });
}

/**
 * Returns the files of a thread with their targets, the log last. Deletes target files that the thread no longer has.
 */
function filesOf(root: Root, from: Root, { hash, threadId }: ThreadRef): [string, string][] {
  const files: [string, string][] = [];
  const blobs = blobIds(from, hash, threadId);
  const folders = [from, root].map((one) => blobsDir(one, hash, threadId)) as [string, string];
  if (blobs.length > 0) makeFolder(folders[1]);
  for (const id of blobs) files.push([join(folders[0], id), join(folders[1], id)]);
  for (const path of [valuesPath, infoPath, journalPath, dataPath]) {
    const [source, target] = [from, root].map((one) => path(one, hash, threadId));
    if (source === undefined || target === undefined) continue;
    if (system.files.exists(source)) files.push([source, target]);
    else removeFile(target);
  }
  return files;
}

const sizeOf = (path: string): number => system.files.stat(path)?.size ?? 0;

/** Checks that a copied log ends with a whole record. @throws WorkflowError `LOG_CORRUPT` */
function checkLog(path: string): void {
  const log = outlineLog(path);
  if (log.kind === "headless") throw corruptError(path, log.broken);
  if (log.kind === "thread" && log.broken) throw corruptError(path, log.broken);
  if (log.kind === "thread" && log.torn === 0) return;
  throw movedLogTorn(path);
}
