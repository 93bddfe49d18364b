import { basename, join } from "node:path";
import { isHash, isThreadId } from "../contract/names.ts";
import { system } from "../system/system.ts";
import { diskError, systemCode } from "./disk-error.ts";

/** An absolute path that `openRoot` has checked. */
export type Root = string & { readonly __root: true };

/** Where each file of a storage root is. Ids and hashes must have been checked. */
export const registryPath = (root: Root) => join(root, "workflow.yaml");
/** The registry before its last change. */
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
/** What steps in progress have done, and what calls of models have cost. */
export const journalPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.journal.jsonl`);
/** Marks a thread that is to stop at its next yield. */
export const pausedPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.paused`);
/** Keeps a thread that could not be driven from being tried again before a time. */
export const postponedPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.postponed`);
/** Counts how often a thread was resumed unasked. */
export const resumesPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.resumes.json`);
/** What events refer to by `at`: the values that are too long for them. */
export const valuesPath = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}.values.jsonl`);
/** Where the thread is, once it has moved between hosts. */
/** The files of a thread: its records, its journal, its debug log, the values that this refers to, and the folder of its blobs. */
export type ThreadFiles = Record<"data" | "journal" | "info" | "values" | "blobs", string>;

/** The paths of a thread's files in a storage root. The thread need not be there. */
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
/** An empty file for each thread that has moved between hosts. */
export const movedDir = (root: Root) => join(root, "moved");
export const movedPath = (root: Root, threadId: string) => join(root, "moved", threadId);
/** What the thread keeps, a file for each blob. */
export const blobsDir = (root: Root, hash: string, threadId: string) =>
  join(root, "logs", hash, `${threadId}${blobsEnding}`);
/** The id of the storage root, by which other hosts name it. */
export const identityPath = (root: Root) => join(root, "identity.json");
/** Where `gc` puts what nobody needs any more, for a day. */
export const trashDir = (root: Root) => join(root, "trash");
/** What is due: which threads continue when. */
export const dueDir = (root: Root) => join(root, "due");
export const runDir = (root: Root) => join(root, "run");
/** The socket's own name in `runDir`: a whole path may be too long for a Unix socket. */
export const socketName = (hash: string) => `${hash}.sock`;
export const lockPath = (root: Root, hash: string) => join(root, "run", `${hash}.lock`);
export const workerInfoPath = (root: Root, hash: string) => join(root, "run", `${hash}.holder`);
export const registryLockPath = (root: Root) => join(root, "run", "registry.lock");
/** The lock under which a thread with an id of its caller's is started, whatever its version. */
export const startLockPath = (root: Root, threadId: string) =>
  join(root, "run", `${threadId}.lock`);
/** The lock of the `dev` that registers versions of a workflow, by {@link devNameOf} its name. */
export const devLockPath = (root: Root, name: string) => join(root, "run", `${name}.lock`);
/** Where the HTTP server listens, and its token. */
export const serverPath = (root: Root) => join(root, "run", "server.json");
/** A value that the threads of all versions share. */
export const sharedPath = (root: Root, name: string) => join(root, "run", `${name}${sharedEnding}`);
/** What the threads have spent together, its lock, and the limits that the root itself sets. */
export const spendingPath = (root: Root) => join(root, "run", "spending.json");
export const spendingLockPath = (root: Root) => join(root, "run", "spending.lock");
export const configPath = (root: Root) => join(root, "config.json");
export const workerLogPath = (root: Root, hash: string) => join(root, "run", `${hash}.log`);

const blobsEnding = ".blobs";
const sharedEnding = ".shared";

/** Whether the text may be the name of a shared value. */
export const isSharedName = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);
export const isSharedFile = (name: string): boolean =>
  name.endsWith(sharedEnding) && isSharedName(name.slice(0, -sharedEnding.length));

const bundleEnding = ".esm.js";
const bundleFile = /^[0-9A-HJKMNP-TV-Z]{13}(\.esm\.js|\.yaml|\.d\.ts|\.map)$/;

/** The names in a folder, in no order; none when there is no such folder. */
export function namesIn(folder: string): string[] {
  try {
    return system.files.list(folder);
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return [];
    throw diskError(error, "list", folder);
  }
}

/** The hashes of the bundles that are stored. */
export const storedHashes = (root: Root): string[] =>
  stems(bundlesDir(root), bundleEnding).filter(isHash).sort();

/** The hashes that have a folder of logs, be it empty. */
export const loggedHashes = (root: Root): string[] => namesIn(logsDir(root)).filter(isHash).sort();

/** The ids of the threads that one bundle has run, in no order: there may be very many. */
export const threadIdsOf = (root: Root, hash: string): string[] =>
  stems(threadsDir(root, hash), ".data.jsonl").filter(isThreadId);

/** The ids of the threads of one bundle that are paused, or ended while they were. */
export const pausedIdsOf = (root: Root, hash: string): string[] =>
  stems(threadsDir(root, hash), ".paused").filter(isThreadId);

/** The folders of blobs of the threads that one bundle has run, and of those that are gone. */
export const blobFolders = (root: Root, hash: string): string[] =>
  stems(threadsDir(root, hash), blobsEnding)
    .filter(isThreadId)
    .map((threadId) => blobsDir(root, hash, threadId));

const stems = (folder: string, ending: string): string[] =>
  namesIn(folder).flatMap((name) => (name.endsWith(ending) ? name.slice(0, -ending.length) : []));

/** The files in `bundles/` by hash, the bundle itself first; also where it is missing. */
export function bundleFiles(root: Root): Map<string, string[]> {
  const found = namesIn(bundlesDir(root)).filter((name) => bundleFile.test(name));
  const isBundle = (path: string) => Number(path.endsWith(bundleEnding));
  const paths = found.map((name) => join(bundlesDir(root), name));
  return Map.groupBy(
    paths.sort((a, b) => isBundle(b) - isBundle(a)),
    (path) => basename(path).slice(0, 13),
  );
}
