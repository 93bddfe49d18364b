import { isTrashedThread } from "../../disk/trash.ts";
import { join } from "node:path";
import { isDevName, isHash, isThreadId } from "../../contract/names.ts";
import { isDueEntry, isDueHour } from "../../disk/due.ts";
import {
  blobFolders,
  bundlesDir,
  dueDir,
  isSharedFile,
  loggedHashes,
  logsDir,
  movedDir,
  namesIn,
  type Root,
  runDir,
  storedHashes,
  trashDir,
} from "../../disk/paths.ts";
import type { Problem, Verification, VerifyOptions } from "../../host/host.ts";
import { isBlobId } from "../../record/blob-names.ts";
import type { FileStat } from "../../system/port.ts";
import { system } from "../../system/system.ts";
import { allThreads } from "../threads/view.ts";
import { isAside, isTrash } from "./gc.ts";
import { bundleProblems, registryProblems } from "./verify-bundles.ts";
import { dueProblems, lostLogs, moveProblems, threadProblems } from "./verify-threads.ts";

/**
 * Reads the whole store and reports each problem, without changing or running anything. Covers the registry, bundles
 * and the files beside them, logs, journals, values and blobs of threads, due entries, and notes of moved threads. Also
 * reports unknown files, links, and files open to other users. Workers may write threads meanwhile.
 */
export async function verifyStore(
  root: Root,
  { onProgress = () => {} }: VerifyOptions = {},
): Promise<Verification> {
  const checked = { bundles: 0, threads: 0 };
  const problems = [...takeInventory(root), ...registryProblems(root)];
  const withoutSums: string[] = [];
  const count = async (kind: keyof typeof checked, found: Problem[]): Promise<void> => {
    problems.push(...found);
    checked[kind] += 1;
    onProgress({ ...checked });
    // Lets timers and signals run.
    await system.clock.turn();
  };
  const bundles = new Map<string, string>();
  for (const hash of storedHashes(root)) {
    const found = bundleProblems(root, hash);
    if (found.sha256 !== null) bundles.set(hash, found.sha256);
    await count("bundles", found.problems);
  }
  for (const ref of allThreads(root)) {
    const onUnsealed = () => withoutSums.push(ref.threadId);
    await count("threads", await threadProblems(root, ref, bundles.get(ref.hash), onUnsealed));
  }
  problems.push(...dueProblems(root), ...moveProblems(root), ...(await lostLogs(root)));
  return { checked, problems, withoutSums };
}

type Kind = "file" | "folder" | "socket";
type Rule = (name: string) => Kind | null;

/**
 * Lists every file of a storage root without opening any. Reports unknown files, links and special files in place of
 * known files, and files open to other users.
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
  problems.push(...look(movedDir(root), rules.moved));
  return problems.concat(look(trashDir(root), rules.trash));
}

const flatFile = /^[0-9A-Z]{13}\.(esm\.js|yaml|d\.ts|map|lock|holder|log)$/;
const runFiles = new Set([
  "ready",
  "registry.lock",
  "server.json",
  "spending.json",
  "spending.lock",
  "telemetry.lock",
]);
const rootFiles = new Set([
  "workflow.yaml",
  "workflow.yaml.bak",
  "config.json",
  "identity.json",
  "audit.jsonl",
  "audit.1.jsonl",
  "telemetry.jsonl",
  ".gitignore",
]);
// `plans`, `evals` and `cluster` belong to other packages.
const folders = new Set([
  "bundles",
  "cluster",
  "due",
  "evals",
  "index",
  "logs",
  "moved",
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
    const ending =
      /^\.(data\.jsonl|journal\.jsonl|info\.jsonl|values\.jsonl|location\.json|paused|postponed|resumes\.json|(journal\.)?torn-\d+)$/.test(
        name.slice(26),
      );
    return ending && isThreadId(name.slice(0, 26)) ? "file" : null;
  },
  blobs: (name) => (isBlobId(name) ? "file" : null),
  trash: (name) => (isTrash(name) || isTrashedThread(name) ? "folder" : null),
  index: (name) => (/^threads\.sqlite(-wal|-shm)?$/.test(name) ? "file" : null),
  due: (name) => (isDueHour(name) ? "folder" : name === "complete" ? "file" : null),
  hour: (name) => (isDueEntry(name) ? "file" : null),
  moved: (name) => (isThreadId(name) ? "file" : null),
  // The content of a worktree belongs to its agents.
  worktrees: (name) => (isThreadId(name) ? "folder" : null),
} satisfies Record<string, Rule>;

function look(folder: string, rule: Rule): Problem[] {
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    const found = system.files.statLink(path);
    if (!found) return [];
    const wanted = isAside(name) ? "file" : rule(name);
    const message = wanted === null ? "is not a known file" : faultOf(found, wanted);
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
