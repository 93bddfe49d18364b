import { readdirSync } from "node:fs";
import { join } from "node:path";
import { diskError, systemCode } from "./disk-error.ts";
import { isHash, isThreadId } from "./names.ts";
import { bundlesDir, logsDir, type Root, threadsDir } from "./paths.ts";

const bundleEnding = ".esm.js";
const dataEnding = ".data.jsonl";
const bundleFile = /^([0-9A-Z]{13})(\.esm\.js|\.yaml|\.d\.ts|\.map)$/;

/** The names in a folder, in no order; none when there is no such folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return [];
    throw diskError(error, "list", folder);
  }
}

/** The hashes of the bundles that are stored. */
export function storedHashes(root: Root): string[] {
  return stems(namesIn(bundlesDir(root)), bundleEnding)
    .filter(isHash)
    .sort();
}

/** The hashes that have a folder of logs, be it empty. */
export function loggedHashes(root: Root): string[] {
  return namesIn(logsDir(root)).filter(isHash).sort();
}

/** The ids of the threads that one bundle has run, in no order: there may be very many. */
export function threadIdsOf(root: Root, hash: string): string[] {
  return stems(namesIn(threadsDir(root, hash)), dataEnding).filter(isThreadId);
}

function stems(names: string[], ending: string): string[] {
  return names.filter((name) => name.endsWith(ending)).map((name) => name.slice(0, -ending.length));
}

/** The files in `bundles/` by hash, the bundle itself first; also where it is missing. */
export function bundleFiles(root: Root): Map<string, string[]> {
  const folder = bundlesDir(root);
  const files = new Map<string, string[]>();
  for (const name of namesIn(folder)) {
    const [, hash, ending] = bundleFile.exec(name) ?? [];
    if (!hash || !isHash(hash)) continue;
    const found = files.get(hash) ?? [];
    if (ending === bundleEnding) found.unshift(join(folder, name));
    else found.push(join(folder, name));
    files.set(hash, found);
  }
  return files;
}
