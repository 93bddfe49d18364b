import { lstatSync, type Stats } from "node:fs";
import { join } from "node:path";
import { loggedHashes, namesIn } from "../storage/list.ts";
import { isThreadId } from "../storage/names.ts";
import { bundlesDir, logsDir, type Root, runDir, threadsDir } from "../storage/paths.ts";

/** A file that a crash left behind and nothing will ever read. */
export type Leftover = { path: string; bytes: number; hash: string | null };

/** The name that `writeFileAtomic` gives a file until it is whole. */
export const isAside = (name: string): boolean => /^\..+\.[0-9a-f]{8}\.tmp$/.test(name);

/**
 * What crashes left behind and has not been touched since `before` (milliseconds): files that were
 * being written, logs of threads that never began, and what stands beside a log that is gone.
 * `hash` is set where the lock of that hash must be held to remove it.
 */
export function findLeftovers(root: Root, before: number): Leftover[] {
  const folders = [root, bundlesDir(root), logsDir(root), runDir(root)];
  const found = folders.flatMap((folder) => asideFiles(folder, null, before));
  for (const hash of loggedHashes(root)) {
    found.push(
      ...asideFiles(threadsDir(root, hash), hash, before),
      ...deadLogs(root, hash, before),
    );
  }
  return found;
}

function asideFiles(folder: string, hash: string | null, before: number): Leftover[] {
  return namesIn(folder)
    .filter(isAside)
    .flatMap((name) => leftover(join(folder, name), hash, before));
}

function deadLogs(root: Root, hash: string, before: number): Leftover[] {
  const folder = threadsDir(root, hash);
  const threads = Map.groupBy(
    namesIn(folder).filter((name) => isThreadId(name.slice(0, 26)) && name[26] === "."),
    (name) => name.slice(0, 26),
  );
  return [...threads].flatMap(([threadId, names]) => {
    const data = stat(join(folder, `${threadId}.data.jsonl`));
    if (data && data.size > 0) return [];
    const dead = names.map((name) => leftover(join(folder, name), hash, before));
    return dead.every((one) => one.length === 1) ? dead.flat() : [];
  });
}

function leftover(path: string, hash: string | null, before: number): Leftover[] {
  const found = stat(path);
  if (!found?.isFile() || found.mtimeMs >= before) return [];
  return [{ path, bytes: found.size, hash }];
}

function stat(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
