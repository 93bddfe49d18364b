import { join } from "node:path";
import { readDescriptor } from "../bundle/descriptor.ts";
import { maxDescriptorBytes } from "../bundle/proof.ts";
import { readBundle } from "../bundle/store.ts";
import { messageOf } from "../contract/error.ts";
import type { Problem, Verification, VerifyOptions } from "../host/host.ts";
import { type LogOutline, outlineLog, type Unreadable } from "../log/log.ts";
import type { SyntaxViolation } from "../registry/parse.ts";
import { readRegistry } from "../registry/read.ts";
import type { Registry } from "../registry/registry.ts";
import { versionsOf } from "../registry/versions.ts";
import { isDueComplete, isDueEntry, isDueHour, listDue } from "../storage/due.ts";
import { blobIds, isBlobId, readBlob } from "../storage/blobs.ts";
import { readOwnFile } from "../storage/files.ts";
import {
  blobFolders,
  blobsDir,
  bundlePath,
  bundlesDir,
  dataPath,
  descriptorPath,
  dueDir,
  isDevName,
  isHash,
  isSharedFile,
  isThreadId,
  loggedHashes,
  logsDir,
  namesIn,
  type Root,
  registryPath,
  runDir,
  storedHashes,
  threadIdsOf,
  trashDir,
} from "../storage/paths.ts";
import type { FileStat } from "../system/port.ts";
import { system } from "../system/system.ts";
import { quietWakingTime } from "../thread/selection.ts";
import type { ThreadRef } from "../thread/thread.ts";
import { isAside, isTrash } from "./gc.ts";
import { allThreads } from "./threads.ts";

/**
 * Reads the whole store and names each violation; changes nothing and runs nothing. The registry is read,
 * every bundle hashed again, every descriptor and every thread's log read to its end. Unknown files, links,
 * what other users can reach, and missing bundles are named too. Threads may be written meanwhile.
 */
export async function verifyStore(
  root: Root,
  { onProgress = () => {} }: VerifyOptions = {},
): Promise<Verification> {
  const checked = { bundles: 0, threads: 0 };
  const problems = [...takeInventory(root), ...(await missingBundles(root))];
  const withoutSums: string[] = [];
  const count = async (kind: keyof typeof checked, found: Problem[]): Promise<void> => {
    problems.push(...found);
    checked[kind] += 1;
    onProgress({ ...checked });
    // Timers and signals have their turn.
    await system.clock.turn();
  };
  for (const hash of storedHashes(root)) await count("bundles", await bundleProblems(root, hash));
  for (const ref of allThreads(root)) {
    const onUnsealed = () => withoutSums.push(ref.threadId);
    await count("threads", await threadProblems(root, ref, onUnsealed));
  }
  return { checked, problems: problems.concat(missingDue(root)), withoutSums };
}

/** The threads that sleep, and are not among what is due. */
function missingDue(root: Root): Problem[] {
  if (!isDueComplete(root)) return [];
  const unlisted = (refs: readonly ThreadRef[]): ThreadRef[] => {
    const sleepers = refs.filter((ref) => quietWakingTime(root, ref) !== null);
    const due = new Set(listDue(root, Number.POSITIVE_INFINITY).map(({ threadId }) => threadId));
    return sleepers.filter(({ threadId }) => !due.has(threadId));
  };
  // One that was just woken has no entry any more, and does not sleep either.
  return unlisted(unlisted(allThreads(root))).map((ref) => ({
    path: dataPath(root, ref.hash, ref.threadId),
    message: `it sleeps, and nobody would wake it: delete ${dueDir(root)} and run uncaged-workflow wake`,
  }));
}

async function missingBundles(root: Root): Promise<Problem[]> {
  const stored = new Set(storedHashes(root));
  const needed = new Map<string, string>();
  const problems: Problem[] = [];
  for (const hash of loggedHashes(root)) {
    const { length } = threadIdsOf(root, hash);
    if (length > 0)
      needed.set(hash, length === 1 ? "a thread needs it" : `${length} threads need it`);
  }
  let registry: Registry = new Map();
  try {
    registry = await readRegistry(root);
  } catch (error) {
    const cause =
      error instanceof Error ? (error.cause as Partial<SyntaxViolation> | undefined) : undefined;
    const message = cause?.reason ?? messageOf(error);
    problems.push({ path: registryPath(root), ...(cause?.line && { line: cause.line }), message });
  }
  for (const [name, workflow] of registry) {
    for (const { hash } of versionsOf(workflow)) needed.set(hash, `a version of ${name}`);
  }
  for (const [hash, why] of needed) {
    if (stored.has(hash)) continue;
    problems.push({ path: bundlePath(root, hash), message: `the bundle is missing: ${why}` });
  }
  return problems;
}

async function bundleProblems(root: Root, hash: string): Promise<Problem[]> {
  const path = bundlePath(root, hash);
  const beside = descriptorPath(root, hash);
  return [
    ...(await problemOf(path, async () => void (await readBundle(root, hash)))),
    ...(await problemOf(beside, async () => {
      const bytes = readOwnFile(beside, maxDescriptorBytes);
      if (!bytes) return "the descriptor is missing: add the bundle again";
      return void readDescriptor(new TextDecoder().decode(bytes), beside);
    })),
  ];
}

async function threadProblems(
  root: Root,
  { hash, threadId }: ThreadRef,
  onUnsealed: () => void,
): Promise<Problem[]> {
  const path = dataPath(root, hash, threadId);
  // What is no plain file can't be opened without waiting, and is in the inventory.
  if (!system.files.statLink(path)?.isFile()) return [];
  const problems: Problem[] = [];
  const unread = await problemOf(path, async () => {
    const log = await settled(path);
    if (log.kind === "thread" && log.sum === null) onUnsealed();
    if (log.kind !== "empty" && log.broken) {
      const { line, offset, reason } = log.broken;
      problems.push({ path, line, offset, message: reason });
    }
    if (log.kind === "headless" || log.torn === 0) return;
    // A whole record that lacks its newline is taken by who resumes the thread.
    if (log.kind === "thread" && (log.broken || !log.isEnded)) return;
    const isEmpty = log.kind === "empty";
    const line = isEmpty ? 1 : 2 + log.steps + (log.end ? 1 : 0);
    const message = `the last ${log.torn} bytes are no whole record: a crash cut them, and resume puts them aside`;
    problems.push({ path, line, offset: isEmpty ? 0 : log.size, message });
  });
  return problems.concat(unread, await blobProblems(root, { hash, threadId }));
}

async function blobProblems(root: Root, { hash, threadId }: ThreadRef): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const id of blobIds(root, hash, threadId)) {
    const path = join(blobsDir(root, hash, threadId), id);
    // What is no plain file is in the inventory.
    if (!system.files.statLink(path)?.isFile()) continue;
    problems.push(...(await problemOf(path, async () => void readBlob(path, id))));
  }
  return problems;
}

/** The outline of a log that nobody is just now writing the last record of. */
async function settled(path: string): Promise<LogOutline | Unreadable> {
  let log = outlineLog(path);
  for (let size = -1; log.kind !== "headless" && log.torn > 0; log = outlineLog(path)) {
    const now = log.torn + (log.kind === "empty" ? 0 : log.size);
    if (now === size) break;
    size = now;
    await system.clock.sleep(50);
  }
  return log;
}

/** What an act threw, or the sentence that it gave, as a problem of a file. */
async function problemOf(path: string, act: () => Promise<string | void>): Promise<Problem[]> {
  try {
    const message = await act();
    return message ? [{ path, message }] : [];
  } catch (error) {
    const message = messageOf(error);
    if (!message.startsWith(`${path}:`)) return [{ path, message }];
    // The path and the line that a message begins with are fields of the problem.
    const [, line, rest = message] =
      /^:(?:(\d+):\d+:)? (.*)$/.exec(message.slice(path.length)) ?? [];
    return [{ path, ...(line && { line: Number(line) }), message: rest }];
  }
}

type Kind = "file" | "folder" | "socket";
type Rule = (name: string) => Kind | null;

/**
 * Goes through every file of a storage root without opening one. Names what is none of ours, links
 * and special files instead of ours, and what others than the owner can reach.
 */
function takeInventory(root: Root): Problem[] {
  const problems = [bundlesDir(root), runDir(root)].flatMap((folder) => look(folder, rules.flat));
  problems.push(...look(root, rules.root), ...look(logsDir(root), rules.logs));
  for (const name of namesIn(logsDir(root)).filter(isHash)) {
    problems.push(...look(join(logsDir(root), name), rules.threads));
  }
  for (const hash of loggedHashes(root)) {
    const folders = blobFolders(root, hash);
    problems.push(...folders.flatMap((folder) => look(folder, rules.blobs)));
  }
  for (const name of namesIn(dueDir(root)).filter(isDueHour)) {
    problems.push(...look(join(dueDir(root), name), rules.hour));
  }
  problems.push(...look(dueDir(root), rules.due), ...look(join(root, "index"), rules.index));
  problems.push(...look(join(root, "worktrees"), rules.worktrees));
  return problems.concat(look(trashDir(root), rules.trash));
}

const flatFile = /^[0-9A-Z]{13}\.(esm\.js|yaml|d\.ts|map|lock|holder|log)$/;
const runFiles = new Set(["registry.lock", "server.json"]);
const rootFiles = new Set(["workflow.yaml", "workflow.yaml.bak", "identity.json", ".gitignore"]);
// What is in `plans` is for those who keep plans, what is in `evals` for evals, and what is in `cluster` for the cluster
// of this machine.
const folders = new Set([
  "bundles",
  "cluster",
  "due",
  "evals",
  "index",
  "logs",
  "plans",
  "run",
  "trash",
  "worktrees",
]);

const rules = {
  root: (name) => (rootFiles.has(name) ? "file" : folders.has(name) ? "folder" : null),
  flat: (name) => {
    if (name.endsWith(".sock")) return isHash(name.slice(0, -5)) ? "socket" : null;
    const owner = name.endsWith(".lock") ? name.slice(0, -5) : "";
    if (isThreadId(owner) || isDevName(owner)) return "file";
    return flatFile.test(name) || isSharedFile(name) || runFiles.has(name) ? "file" : null;
  },
  logs: (name) => (isHash(name) ? "folder" : null),
  threads: (name) => {
    if (name.slice(26) === ".blobs") return isThreadId(name.slice(0, 26)) ? "folder" : null;
    const ending = /^\.(data\.jsonl|info\.jsonl|values\.jsonl|location\.json|torn-\d+)$/.test(
      name.slice(26),
    );
    return ending && isThreadId(name.slice(0, 26)) ? "file" : null;
  },
  blobs: (name) => (isBlobId(name) ? "file" : null),
  trash: (name) => (isTrash(name) ? "folder" : null),
  index: (name) => (/^threads\.sqlite(-wal|-shm)?$/.test(name) ? "file" : null),
  due: (name) => (isDueHour(name) ? "folder" : name === "complete" ? "file" : null),
  hour: (name) => (isDueEntry(name) ? "file" : null),
  // What is in one is its agents'.
  worktrees: (name) => (isThreadId(name) ? "folder" : null),
} satisfies Record<string, Rule>;

function look(folder: string, rule: Rule): Problem[] {
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    const found = system.files.statLink(path);
    if (!found) return [];
    const wanted = isAside(name) ? "file" : rule(name);
    const message = wanted === null ? "is no file of ours" : faultOf(found, wanted);
    return message === null ? [] : [{ path, message }];
  });
}

function faultOf(found: FileStat, wanted: Kind): string | null {
  const kind = kindOf(found);
  if (kind !== wanted) return `is a ${kind}, not a ${wanted}`;
  const mode = found.mode & 0o777;
  if ((mode & 0o077) === 0) return null;
  const right = wanted === "folder" ? "700" : "600";
  return `is open to other users (mode ${mode.toString(8)}): chmod ${right}`;
}

function kindOf(found: FileStat): string {
  if (found.isFile()) return "file";
  if (found.isDirectory()) return "folder";
  if (found.isSocket()) return "socket";
  return found.isSymbolicLink() ? "symbolic link" : "special file";
}
