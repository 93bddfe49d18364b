import { chmodSync, mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { newFolder } from "./program.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

function run(...command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
  return stdout.toString().trim();
}

/** Cleanups, run in reverse order by {@link unmountAll}. */
const made: (() => void)[] = [];

/** Unmounts all disks. Call it in `afterAll`, once the processes on the disks have ended. */
export function unmountAll(): void {
  for (const undo of made.splice(0).toReversed()) undo();
}

function mount(path: string, ...args: string[]): void {
  run("mount", ...args, path);
  made.push(() => run("umount", "-l", path));
}

/** Returns the reason why no file system can be mounted here, for the name of a skipped test; null if one can. */
export function whyNoMounts(...programs: string[]): string | null {
  if (process.platform !== "linux") return "only Linux can mount these disks";
  if (process.getuid?.() !== 0) return "only root can mount a file system";
  const missing = ["mount", "umount", ...programs].find((name) => Bun.which(name) === null);
  if (missing !== undefined) return `the program ${missing} is missing`;
  try {
    mount(newFolder(), "-t", "tmpfs", "tmpfs");
    unmountAll();
    return null;
  } catch (error) {
    return `a mount failed: ${String(error)}`;
  }
}

/** A disk in memory with a size in KB, mounted at an existing folder. */
export class SmallDisk {
  readonly path: string;

  constructor(path: string, kilobytes: number) {
    this.path = path;
    mount(path, "-t", "tmpfs", "-o", `size=${kilobytes}k,mode=700`, "tmpfs");
  }

  /** Fills the disk except for the given number of KB. */
  fill(kilobytes = 0): void {
    const path = join(this.path, "ballast");
    writeFileSync(path, "");
    // A write without enough space fails, but keeps the part that fits.
    for (const size of [1 << 20, 1 << 16, 1 << 12]) {
      Bun.spawnSync([
        "dd",
        "if=/dev/zero",
        `of=${path}`,
        `bs=${size}`,
        "oflag=append",
        "conv=notrunc",
      ]);
    }
    truncateSync(path, Math.max(0, statSync(path).size - kilobytes * 1024));
  }

  free(): void {
    rmSync(join(this.path, "ballast"), { force: true });
  }

  writable(is: boolean): void {
    run("mount", "-o", `remount,${is ? "rw" : "ro"}`, this.path);
  }
}

/**
 * A disk with ext4 mounted at an existing folder, backed by a file on a {@link SmallDisk}. When the small disk is full,
 * writes to new blocks fail. A sync reports this once. The unwritten data is then lost, although the system's cache
 * still shows it.
 */
export class FailingDisk {
  readonly #path: string;
  readonly #below: SmallDisk;
  readonly #device: string;

  constructor(path: string) {
    this.#path = path;
    this.#below = new SmallDisk(newFolder(), 64 * 1024);
    const image = join(this.#below.path, "image");
    run("truncate", "-s", "48M", image);
    this.#device = run("losetup", "-f", "--show", image);
    made.push(() => run("losetup", "-d", this.#device));
    // A loop device reports a partial write to its file as complete, so limit each write to one block.
    writeFileSync(`/sys/block/${basename(this.#device)}/queue/max_sectors_kb`, "4");
    run("mkfs.ext4", "-q", "-b", "4096", "-E", "nodiscard", this.#device);
    mount(path, "-o", "nodiscard", this.#device);
    chmodSync(path, 0o700);
    mkdirSync(join(path, "home"), { recursive: true });
  }

  /** Makes syncs fail if they need new blocks. */
  fail(): void {
    this.#below.fill();
  }

  work(): void {
    this.#below.free();
  }

  /** Waits until no process uses the disk, then drops data that is only in the system's cache. */
  async remount(): Promise<void> {
    await until(
      () => Bun.spawnSync(["umount", this.#path]).exitCode === 0,
      () => `${this.#path} is in use`,
    );
    run("mount", "-o", "nodiscard", this.#device, this.#path);
  }
}
