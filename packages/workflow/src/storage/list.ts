import { readdirSync } from "node:fs";
import { diskError, systemCode } from "./disk-error.ts";
import { isHash, isThreadId } from "./names.ts";
import { bundlesDir, logsDir, type Root, threadsDir } from "./paths.ts";

const bundleEnding = ".esm.js";
const dataEnding = ".data.jsonl";

/** The names in a folder, sorted; none when there is no such folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return [];
    throw diskError(error, "list", folder);
  }
}

/** The hashes of the bundles that are stored. */
export function storedHashes(root: Root): string[] {
  return stems(namesIn(bundlesDir(root)), bundleEnding).filter(isHash);
}

/** The hashes that have a folder of logs, be it empty. */
export function loggedHashes(root: Root): string[] {
  return namesIn(logsDir(root)).filter(isHash);
}

/** The ids of the threads that one bundle has run, the oldest first. */
export function threadIdsOf(root: Root, hash: string): string[] {
  return stems(namesIn(threadsDir(root, hash)), dataEnding).filter(isThreadId);
}

function stems(names: string[], ending: string): string[] {
  return names.filter((name) => name.endsWith(ending)).map((name) => name.slice(0, -ending.length));
}
