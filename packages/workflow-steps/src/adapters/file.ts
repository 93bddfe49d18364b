import { isWorkflowError } from "@uncaged/workflow";
import { confinedPath, readConfined, writeConfined } from "@uncaged/workflow-agents/interpreter";
import { unzipSync } from "fflate/browser";
import type { Dirent } from "node:fs";
import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, normalize } from "node:path";
import picomatch from "picomatch/posix.js";
import type { FileAdapter, FileMode } from "../adapter/adapter.ts";
import { nullIfMissing } from "../adapter/error.ts";
import { brokenZip, pathOutside, zipTooLarge } from "./errors.ts";

/** `cwd` is the root folder. `mostBytes` limits the size of a file to read or write (256 MB). */
export type FileAdapterOptions = UnzipLimits & { cwd: string };

// The maximum size of a file in bytes.
const longest = 256 * 1024 * 1024;

/**
 * Returns a `file` adapter over a folder. Refuses paths outside the folder: `..`, absolute paths and links. Writes are
 * atomic, and writes to one path run in sequence. `list` follows no links, and skips `.git`, `node_modules` and `.tmp`
 * unless the pattern starts with one of them.
 */
export function fileAdapter({
  cwd,
  mostBytes = longest,
  mostFiles,
}: FileAdapterOptions): FileAdapter {
  const inTurn = inTurns();
  const read = async (given: string): Promise<Uint8Array> =>
    (await readConfined(cwd, checked(given), mostBytes)).bytes;
  return {
    read,
    async write(given, data, mode) {
      const path = checked(given);
      return await inTurn(path, async () => {
        const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
        const all = await joined(bytes, mode, () => read(path));
        await writeConfined(cwd, path, all, { isNew: mode === "failIfExists", most: mostBytes });
        return { size_bytes: all.length };
      });
    },
    async exists(given) {
      const place = await confinedPath(cwd, checked(given)).catch(nullIfMissing);
      return place !== null && (await lstat(place.path).catch(() => null)) !== null;
    },
    async remove(given) {
      const path = checked(given);
      const folder = await confinedPath(cwd, dirname(path)).catch(nullIfMissing);
      if (folder === null) return;
      // Remove a link itself, not its target.
      await rm(join(folder.path, basename(path)), { recursive: true, force: true });
      // The last run removes the folder with all runs' temporary files.
      if (dirname(path) === ".tmp") await rmdir(folder.path).catch(() => undefined);
    },
    list: async (glob) => await listed(cwd, checked(glob)),
    unzip: async (path) => unzipped(await read(path), { mostBytes, mostFiles }),
  };
}

function checked(path: string): string {
  const isText = typeof path === "string" && path.trim() !== "" && !path.includes("\0");
  if (isText && !isAbsolute(path) && !/^\.\.?(\/|$)/.test(normalize(path))) return path;
  throw pathOutside(path);
}

async function joined(
  bytes: Uint8Array,
  mode: FileMode,
  read: () => Promise<Uint8Array>,
): Promise<Uint8Array> {
  if (mode !== "append" && mode !== "prepend") return bytes;
  const old = (await read().catch(nullIfMissing)) ?? new Uint8Array();
  return Buffer.concat(mode === "append" ? [old, bytes] : [bytes, old]);
}

/** Runs the operations on each path in sequence. */
function inTurns() {
  const last = new Map<string, Promise<unknown>>();
  return async <T>(path: string, work: () => Promise<T>): Promise<T> => {
    const key = normalize(path);
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, mine);
    return await mine.finally(() => last.get(key) === mine && last.delete(key));
  };
}

const leftOut = new Set([".git", "node_modules", ".tmp"]);

async function listed(cwd: string, glob: string): Promise<string[]> {
  const fixed = glob.split("/").slice(0, -1);
  const magic = fixed.findIndex((part) => /[*?[\]{}!]/.test(part));
  const start = (magic < 0 ? fixed : fixed.slice(0, magic)).join("/");
  const place = await confinedPath(cwd, start || ".").catch(nullIfMissing);
  if (place === null) return [];
  const matches = picomatch(glob, { dot: true });
  const found: string[] = [];
  for await (const path of filesBelow(place.root, place.name === "." ? "" : place.name)) {
    if (matches(path)) found.push(path);
  }
  return found;
}

async function* filesBelow(root: string, folder: string): AsyncGenerator<string> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(noFolder);
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isFile()) yield path;
    else if (entry.isDirectory() && !leftOut.has(entry.name)) yield* filesBelow(root, path);
  }
}

function noFolder(error: NodeJS.ErrnoException): Dirent[] {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
  throw error;
}

/** Limits for an archive: the number of files, and the total bytes after unpacking. */
export type UnzipLimits = { mostFiles?: number; mostBytes?: number };

/**
 * Returns the files of a zip archive in its order, without folders. Does not check the paths: the caller must keep them
 * inside the target folder. Throws before it unpacks more than the limits (10,000 files, 256 MB).
 */
export function unzipped(
  bytes: Uint8Array,
  { mostFiles = 10_000, mostBytes = longest }: UnzipLimits = {},
): { path: string; data: Uint8Array }[] {
  let files = 0;
  let total = 0;
  try {
    const all = unzipSync(bytes, {
      // Unpacks at most the declared size of each file.
      filter({ size, originalSize }) {
        files += 1;
        total += Math.max(size, originalSize);
        if (files > mostFiles) throw zipTooLarge(`more than ${mostFiles} files`);
        if (!(total <= mostBytes)) throw zipTooLarge(`more than ${mostBytes} bytes when unpacked`);
        return true;
      },
    });
    return Object.entries(all)
      .filter(([path]) => !path.endsWith("/"))
      .map(([path, data]) => ({ path, data }));
  } catch (error) {
    if (isWorkflowError(error)) throw error;
    throw brokenZip(error);
  }
}
