import { basename, join } from "node:path";
import { isHash, isThreadId } from "../contract/names.ts";
import { system } from "../system/system.ts";
import { diskError, systemCode } from "./disk-error.ts";

/** The absolute path of a storage root, checked by `openRoot`. */
export type Root = string & { readonly __root: true };

/** Path of the registry. The functions of this file do not check ids and hashes: their callers must. */
export const registryPath = (root: Root) => join(root, "workflow.yaml");
/** Path of the file with the registry before its last change. */
export const backupPath = (root: Root) => join(root, "workflow.yaml.bak");
export const bundlesDir = (root: Root) => join(root, "bundles");
export const bundlePath = (root: Root, hash: string) => join(root, "bundles", `${hash}.esm.js`);
export const descriptorPath = (root: Root, hash: string) => join(root, "bundles", `${hash}.yaml`);
export const typesPath = (root: Root, hash: string) => join(root, "bundles", `${hash}.d.ts`);
export const mapPath = (root: Root, hash: string) => join(root, "bundles", `${hash}.map`);
export const logsDir = (root: Root) => join(root, "logs");
export const threadsDir = (root: Root, hash: string) => join(root, "logs", hash);
export const dataPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.data.jsonl`);
export const infoPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.info.jsonl`);
/** Path of a thread's journal: progress of uncommitted steps, and costs of model calls. */
export const journalPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.journal.jsonl`);
/** Path of the file that marks a thread that must pause at its next yield, or is paused. */
export const pausedPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.paused`);
/** Path of the file that postpones a thread that could not be driven. */
export const postponedPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.postponed`);
/** Path of the file that counts the automatic resumes of a thread. */
export const resumesPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.resumes.json`);
/** Path of the file of values that are too long for their events. Events refer to them by `at`. */
export const valuesPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.values.jsonl`);
/**
 * The files of a thread: its records, its journal, its debug log, the values of its events, and the folder of its
 * blobs.
 */
export type ThreadFiles = Record<"data" | "journal" | "info" | "values" | "blobs", string>;

/** Returns the paths of a thread's files in a storage root. The thread need not exist. */
export const threadFiles = (
  root: Root,
  { hash, threadId }: { hash: string; threadId: string },
): ThreadFiles => ({
  data: dataPath(root, hash, threadId),
  journal: journalPath(root, hash, threadId),
  info: infoPath(root, hash, threadId),
  values: valuesPath(root, hash, threadId),
  blobs: blobsDir(root, hash, threadId),
});
export const locationPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.location.json`);
/** Path of the folder with an empty file for each thread that has moved between hosts. */
export const movedDir = (root: Root) => join(root, "moved");
export const movedPath = (root: Root, threadId: string) => join(root, "moved", threadId);
/** Path of the folder of a thread's blobs, one file each. */
export const blobsDir = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}${blobsEnding}`);
/** Path of the file with the storage root's id, by which other hosts know it. */
export const identityPath = (root: Root) => join(root, "identity.json");
/** Path of the folder for removed threads, and for unused files, which `gc` keeps for a day. */
export const trashDir = (root: Root) => join(root, "trash");
/** Path of the folder of due entries: the threads that continue at a given time. */
export const dueDir = (root: Root) => join(root, "due");
export const runDir = (root: Root) => join(root, "run");
/** Returns the name of a worker's socket in `runDir`. A whole path may be too long for a Unix socket. */
export const socketName = (hash: string) => `${hash}.sock`;
export const lockPath = (root: Root, hash: string) => join(root, "run", `${hash}.lock`);
export const workerInfoPath = (root: Root, hash: string) => join(root, "run", `${hash}.holder`);
export const registryLockPath = (root: Root) => join(root, "run", "registry.lock");
/** Path of the lock for starting or removing a thread with this id, in any version. */
export const startLockPath = (root: Root, threadId: string) =>
  join(root, "run", `${threadId}.lock`);
/** Path of the lock of the `dev` process of a workflow. `name` is a result of {@link devNameOf}. */
export const devLockPath = (root: Root, name: string) => join(root, "run", `${name}.lock`);
/** Path of the file with the HTTP server's address and token. */
export const serverPath = (root: Root) => join(root, "run", "server.json");
/** Path of a value that the threads of all versions share. */
export const sharedPath = (root: Root, name: string) => join(root, "run", `${name}${sharedEnding}`);
/** Path of the file with the total spending of the threads. */
export const spendingPath = (root: Root) => join(root, "run", "spending.json");
export const spendingLockPath = (root: Root) => join(root, "run", "spending.lock");
export const configPath = (root: Root) => join(root, "config.json");
export const workerLogPath = (root: Root, hash: string) => join(root, "run", `${hash}.log`);

const blobsEnding = ".blobs";
const sharedEnding = ".shared";

/** Returns whether a text is a valid name of a shared value. */
export const isSharedName = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);
/** Returns whether a file name is the name of a shared value's file. */
export const isSharedFile = (name: string): boolean =>
  name.endsWith(sharedEnding) && isSharedName(name.slice(0, -sharedEnding.length));

const bundleEnding = ".esm.js";
const bundleFile = /^[0-9A-HJKMNP-TV-Z]{13}(\.esm\.js|\.yaml|\.d\.ts|\.map)$/;

/** Lists the names in a folder, unordered; empty when it is missing. */
export function namesIn(folder: string): string[] {
  try {
    return system.files.list(folder);
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return [];
    throw diskError(error, "list", folder);
  }
}

/** Lists the hashes of the stored bundles. */
export const storedHashes = (root: Root): string[] =>
  stems(bundlesDir(root), bundleEnding).filter(isHash).sort();

/** Lists the hashes with a folder of logs, even an empty folder. */
export const loggedHashes = (root: Root): string[] => namesIn(logsDir(root)).filter(isHash).sort();

/** Lists the ids of one bundle's threads. They are unordered, because sorting many ids takes long. */
export const threadIdsOf = (root: Root, hash: string): string[] =>
  stems(threadsDir(root, hash), ".data.jsonl").filter(isThreadId);

/** Lists the ids of one bundle's threads that are paused, or ended while paused. */
export const pausedIdsOf = (root: Root, hash: string): string[] =>
  stems(threadsDir(root, hash), ".paused").filter(isThreadId);

/** Lists the blob folders of one bundle's threads, including removed threads. */
export const blobFolders = (root: Root, hash: string): string[] =>
  stems(threadsDir(root, hash), blobsEnding)
    .filter(isThreadId)
    .map((threadId) => blobsDir(root, hash, threadId));

const stems = (folder: string, ending: string): string[] =>
  namesIn(folder).flatMap((name) => (name.endsWith(ending) ? name.slice(0, -ending.length) : []));

/** Returns the files in `bundles/` by hash. The bundle itself is first, if it exists. */
export function bundleFiles(root: Root): Map<string, string[]> {
  const found = namesIn(bundlesDir(root)).filter((name) => bundleFile.test(name));
  const isBundle = (path: string) => Number(path.endsWith(bundleEnding));
  const paths = found.map((name) => join(bundlesDir(root), name));
  return Map.groupBy(
    paths.sort((a, b) => isBundle(b) - isBundle(a)),
    (path) => basename(path).slice(0, 13),
  );
}
