import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { WorkflowError } from "@uncaged/workflow";
import { brokenLink, missingParent, outside, zeroByte } from "./errors.ts";

/*
 * Keeps the paths of tools inside the thread's directory, even with links. A path is checked by its real target, opened
 * without following a link in its last part (`open.ts`), and checked again after the open, in case a link was created
 * in between.
 */

/** A path below `root`. `root` and `path` are real paths without links. `name` is relative to `root`. */
export type ConfinedPath = { root: string; path: string; name: string };

/**
 * Resolves a path to a file or folder inside the directory. The file may be missing if its parent folder exists.
 * @throws WorkflowError `PATH_OUTSIDE`, `FILE_MISSING`.
 */
export async function confinedPath(cwd: string, given: string): Promise<ConfinedPath> {
  if (given.includes("\0")) throw zeroByte(given);
  const root = await realpath(cwd);
  const wanted = resolve(root, given);
  // The directory itself may be a link.
  const named = resolve(cwd);
  const direct = isInside(named, wanted) ? join(root, relative(named, wanted)) : wanted;
  if (!isInside(root, direct)) throw outside(given);
  const path = direct === root ? root : await realPlace(direct, given);
  if (!isInside(root, path)) throw outside(given);
  return { root, path, name: relative(root, path) || "." };
}

async function realPlace(path: string, given: string): Promise<string> {
  const found = await realpath(path).catch(nullIfMissing);
  if (found !== null) return found;
  const stats = await lstat(path).catch(() => null);
  if (stats?.isSymbolicLink()) {
    throw brokenLink(given);
  }
  const folder = await realpath(dirname(path)).catch(nullIfMissing);
  if (folder === null) throw missingParent(given);
  return join(folder, basename(path));
}

/** Returns the nearest existing folder above a path, and the names of the missing folders below it. */
export async function nearestConfined(
  cwd: string,
  given: string,
): Promise<{ place: ConfinedPath; missing: string[] }> {
  const missing: string[] = [];
  for (let path = given; ; path = dirname(path)) {
    const place = await confinedPath(cwd, path).catch((error: WorkflowError) => {
      if (error.code === "FILE_MISSING") return null;
      throw error;
    });
    if (place && (await stat(place.path).catch(nullIfMissing))) return { place, missing };
    if (dirname(path) === path) throw outside(given);
    missing.unshift(basename(path));
  }
}

/** Returns whether a path without links is the folder `root` or is below it. */
export const isInside = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

/** Returns null for the error of a missing file, and rethrows other errors. Pass it to `catch`. */
export const nullIfMissing = (error: Error & { code?: string }): null => {
  if (/^(ENOENT|ENOTDIR|ELOOP|ENAMETOOLONG)$/.test(error.code ?? "")) return null;
  throw error;
};
