import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from "node:fs";
import { readdir } from "node:fs/promises";
import { Turns } from "./turns.ts";

/** Disk use of a step. */
export type DiskUse = { bytes: number; files: number; levels: number };

/**
 * Counts allocated bytes, files and nesting below folders while a hostile program writes to them. Ends early when
 * `isEnough` returns true. Does not count files that vanish meanwhile. Never throws.
 *
 * Opens each folder from its parent's handle without following links, so swapped folders and paths beyond the system's
 * length limit do not change the result.
 */
export async function countFiles(
  folders: readonly string[],
  isEnough: (use: DiskUse) => boolean,
): Promise<DiskUse> {
  const use: DiskUse = { bytes: 0, files: 0, levels: 0 };
  const turns = new Turns(restMs);
  const linked = new Set<string>();
  /** Open handles from the top folder to the current folder, each with the names of its unread subfolders. */
  const open: { handle: number; folders: string[] }[] = [];
  const enter = async (handle: number): Promise<void> => {
    const level = { handle, folders: [] as string[] };
    open.push(level);
    use.levels = Math.max(use.levels, open.length);
    for (const name of await namesIn(handle)) {
      const stats = statsOf(handle, name);
      if (stats !== null) {
        use.files += 1;
        if (!isCounted(stats, linked)) use.bytes += stats.blocks * blockSize;
        if (stats.isDirectory()) level.folders.push(name);
      }
      if (isEnough(use)) return;
      await turns.next();
    }
  };
  try {
    for (const folder of folders) {
      const top = opened(folder);
      if (top === null) continue;
      await enter(top);
      for (let level = open.at(-1); level && !isEnough(use); level = open.at(-1)) {
        const name = level.folders.pop();
        if (name === undefined) {
          open.pop();
          closeSync(level.handle);
          continue;
        }
        const handle = opened(within(level.handle, name), O_NOFOLLOW);
        if (handle !== null) await enter(handle);
      }
      if (isEnough(use)) break;
    }
  } finally {
    for (const { handle } of open) closeSync(handle);
  }
  return use;
}

const restMs = 4;
const blockSize = 512;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Returns whether a file's bytes are already counted under another name, and remembers the file. */
function isCounted({ dev, ino, nlink }: Stats, linked: Set<string>): boolean {
  if (nlink < 2) return false;
  const id = `${dev}:${ino}`;
  const isKnown = linked.has(id);
  linked.add(id);
  return isKnown;
}

/** Joins a handle's path and a name as bytes, because names need not be valid UTF-8. */
const within = (handle: number, name: string): Buffer =>
  Buffer.from(`/proc/self/fd/${handle}/${name}`, "latin1");

function opened(path: string | Buffer, flags = 0): number | null {
  try {
    return openSync(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | flags);
  } catch {
    return null;
  }
}

async function namesIn(handle: number): Promise<string[]> {
  try {
    return await readdir(`/proc/self/fd/${handle}`, "latin1");
  } catch {
    return [];
  }
}

function statsOf(handle: number, name: string): Stats | null {
  try {
    return lstatSync(within(handle, name));
  } catch {
    return null;
  }
}

/** Returns the device of a folder; null when it is missing. */
export function deviceOf(folder: string): number | null {
  const handle = opened(folder);
  if (handle === null) return null;
  try {
    return fstatSync(handle).dev;
  } finally {
    closeSync(handle);
  }
}
