import { readdirSync, readlinkSync } from "node:fs";
import { stat, statfs } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { countFiles, deviceOf, type DiskUse } from "./disk-use.ts";
import { inBytes, isWatched, type StepLimits } from "./limits.ts";
import {
  hasSwap,
  type Process,
  readMemory,
  readProcess,
  readSwapped,
  readTree,
} from "./process-tree.ts";
import { Turns } from "./turns.ts";

/** A step whose limits are watched. */
export type WatchedStep = {
  /** The started process, which leads its process group. */
  pid: number;
  limits: StepLimits;
  /** Host folders whose files count. A step can't change the paths of these folders. */
  folders: readonly string[];
  /** Further folders that the step writes to: their files do not count, but their disks must not run full. */
  disks?: readonly string[];
  /**
   * Called once, before the step's processes are ended. The reason follows "the step": `used more than 4 GiB of
   * memory`.
   */
  onExceeded: (reason: string) => void;
};

const pollMs = 250;
const longestPollMs = 2000;
const diskPollMs = 1000;
// Polling may use a fifth of one processor, and counting files a tenth.
const pollShare = 4;
const diskShare = 9;

const mostFiles = 1_000_000;
const mostLevels = 200;
const reserve = 512 * 1024 ** 2;

/**
 * Watches a step from outside and ends it with SIGKILL when it exceeds a limit. All descendants of its process count;
 * the first process of its PID namespace inherits orphans, so none can escape. Does nothing without `/proc`.
 *
 * Memory counts anonymous, swapped and shared pages once each, and open files in memory, but not mapped files. Counts
 * files below `folders`, and deleted files that are still open on a disk of the step. A step is also ended when it
 * leaves less than 512 MiB of a disk free, or less than half of the space that was free at its start.
 */
export function watchLimits(step: WatchedStep): { stop(): void } {
  if (!isWatched()) return { stop: () => undefined };
  const watch = new Watch(step);
  void watch.processes();
  void watch.files();
  return { stop: () => watch.stop() };
}

/** Bytes of open files without a name, which folders do not list. */
type Unnamed = { onDisk: number; inMemory: number };

class Watch {
  readonly #step: WatchedStep;
  readonly #end = new AbortController();
  /** Start time of the process; null until the first reading. */
  #started: string | null = null;
  #tree: Process[] = [];
  #unnamed: Unnamed = { onDisk: 0, inMemory: 0 };

  constructor(step: WatchedStep) {
    this.#step = step;
  }

  stop(): void {
    this.#end.abort();
  }

  async processes(): Promise<void> {
    const { limits, pid } = this.#step;
    const leastFree = await this.#leastFree();
    while (!this.#isOver) {
      const began = performance.now();
      const tree = await readTree(pid);
      this.#started ??= tree[0]?.started ?? null;
      // The pid belongs to another process now.
      if (tree[0] && tree[0].started !== this.#started) return;
      this.#tree = tree;
      const tasks = tree.reduce((sum, one) => sum + one.tasks, 0);
      if (tasks > limits.processes) {
        await this.#exceeded(`had more than ${limits.processes} processes and threads`);
      } else if (await this.#exceedsMemory(tree)) {
        await this.#exceeded(`used more than ${inBytes(limits.memory)} of memory`);
      } else {
        for (const [disk, least] of leastFree) {
          if (await hasLess(disk, least))
            await this.#exceeded(`left less than ${inBytes(least)} free on the disk of ${disk}`);
        }
      }
      const took = performance.now() - began;
      await this.#rest(Math.min(Math.max(pollMs, took * pollShare), longestPollMs));
    }
  }

  async files(): Promise<void> {
    const { folders, limits } = this.#step;
    const devices = new Set(this.#disks.flatMap((folder) => deviceOf(folder) ?? []));
    while (!this.#isOver) {
      const began = performance.now();
      this.#unnamed = await unnamedFiles(this.#tree, devices);
      const { onDisk } = this.#unnamed;
      const problemOf = ({ bytes, files, levels }: DiskUse) =>
        bytes + onDisk > limits.disk
          ? `wrote more than ${inBytes(limits.disk)} of files`
          : files > mostFiles
            ? `made more than ${mostFiles} files`
            : levels > mostLevels
              ? `nested folders more than ${mostLevels} levels deep`
              : null;
      const use = await countFiles(folders, (found) => this.#isOver || problemOf(found) !== null);
      const problem = problemOf(use);
      if (problem !== null) await this.#exceeded(problem);
      await this.#rest(Math.max(diskPollMs, (performance.now() - began) * diskShare));
    }
  }

  get #isOver(): boolean {
    return this.#end.signal.aborted;
  }

  get #disks(): string[] {
    return [...this.#step.folders, ...(this.#step.disks ?? [])];
  }

  async #exceedsMemory(tree: readonly Process[]): Promise<boolean> {
    const { memory } = this.#step.limits;
    const { inMemory } = this.#unnamed;
    const swaps = hasSwap();
    const turns = new Turns(0);
    // Compute the cheap sum first. It counts mapped files, and shared pages repeatedly, so it is never too low.
    let most = inMemory;
    for (const { pid, resident } of tree) {
      most += resident + (swaps ? readSwapped(pid) : 0);
      if (swaps) await turns.next();
    }
    if (most <= memory) return false;
    let own = 0;
    let shared = 0;
    for (const { pid } of tree) {
      const found = await readMemory(pid);
      own += found.own;
      shared += found.shared;
      if (this.#isOver) return false;
    }
    return own + Math.max(shared, inMemory) > memory;
  }

  /** Each disk with the free space below which the step is ended. */
  async #leastFree(): Promise<[disk: string, least: number][]> {
    const found = this.#disks.map(async (disk): Promise<[string, number]> => {
      const free = (await freeOn(disk)) ?? 0;
      return [disk, Math.min(reserve, Math.floor(free / 2))];
    });
    return await Promise.all(found);
  }

  async #exceeded(reason: string): Promise<void> {
    if (this.#isOver) return;
    this.stop();
    this.#step.onExceeded(reason);
    const isThere = (one: Process) => readProcess(one.pid)?.started === one.started;
    const [root, ...others] = this.#tree;
    // The killed process is the parent of a PID namespace's first process, whose end ends all processes of the
    // namespace.
    if (root && isThere(root)) kill(-root.pid);
    const turns = new Turns(0);
    for (const one of others) {
      if (isThere(one)) kill(one.pid);
      await turns.next();
    }
  }

  async #rest(ms: number): Promise<void> {
    const { signal } = this.#end;
    await setTimeout(ms, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended.
  }
}

const freeOn = async (folder: string): Promise<number | null> => {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
};

const hasLess = async (folder: string, least: number): Promise<boolean> =>
  ((await freeOn(folder)) ?? Number.POSITIVE_INFINITY) < least;

/** Returns the sizes of nameless files that processes have open, on the given disks and in memory. */
async function unnamedFiles(
  tree: readonly Process[],
  devices: ReadonlySet<number>,
): Promise<Unnamed> {
  const found: Unnamed = { onDisk: 0, inMemory: 0 };
  const turns = new Turns(restMs);
  const seen = new Set<string>();
  for (const { pid } of tree) {
    const folder = `/proc/${pid}/fd`;
    for (const name of namesIn(folder)) {
      await turns.next();
      const path = `${folder}/${name}`;
      const link = linkOf(path);
      if (!link.endsWith(" (deleted)")) continue;
      const stats = await stat(path).catch(() => null);
      const id = `${stats?.dev}:${stats?.ino}`;
      if (!stats?.isFile() || stats.nlink > 0 || seen.has(id)) continue;
      seen.add(id);
      const size = stats.blocks * 512;
      if (devices.has(stats.dev)) found.onDisk += size;
      else if (link.startsWith("/memfd:")) found.inMemory += size;
    }
  }
  return found;
}

const restMs = 4;

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
