import { constants, existsSync } from "node:fs";
import { type FileHandle, mkdir, open, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { WorkflowError } from "@uncaged/workflow";
import { type ConfinedPath, isInside, nullIfMissing, outside, pathError } from "./path.ts";

// A file of its own, so that the types of who imports a path do not need those of Node.

/**
 * Opens a plain file. Waits at no FIFO, and opens no device and no folder.
 *
 * @throws WorkflowError `FILE_MISSING`, `NOT_A_FILE`, `PATH_OUTSIDE`
 */
export async function openConfined(
  place: ConfinedPath,
  flags: number,
  mode?: number,
): Promise<FileHandle> {
  const { O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(place.path, flags | O_NOFOLLOW | O_NONBLOCK, mode).catch(
    (error: NodeJS.ErrnoException) => {
      throw openError(place, error);
    },
  );
  try {
    const stats = await file.stat({ bigint: true });
    if (!stats.isFile()) throw pathError("NOT_A_FILE", place.name, "is no plain file");
    const path = await realpath(place.path).catch(nullIfMissing);
    const now = path === null ? null : await stat(path, { bigint: true }).catch(nullIfMissing);
    const isSame = now?.dev === stats.dev && now.ino === stats.ino;
    if (path === null || !isInside(place.root, path) || !isSame) throw outside(place.name);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function openError(place: ConfinedPath, error: NodeJS.ErrnoException): WorkflowError {
  switch (error.code) {
    case "ENOENT":
    case "ENOTDIR":
      return pathError("FILE_MISSING", place.name, "is not there");
    case "ELOOP":
      return outside(place.name);
    case "EISDIR":
    case "ENXIO":
      return pathError("NOT_A_FILE", place.name, "is no plain file");
    default:
      return pathError("FILE_FAILED", place.name, `can't be opened: ${error.code}`);
  }
}

const openFiles = "/proc/self/fd";

/**
 * A folder of the thread's directory, held open. Where the system has a path to an open folder (Linux),
 * what is done in it is done there and nowhere else, whatever its name leads to by now.
 */
export class Folder {
  readonly #handle: FileHandle;
  readonly #place: ConfinedPath;

  private constructor(handle: FileHandle, place: ConfinedPath) {
    this.#handle = handle;
    this.#place = place;
  }

  /** @throws WorkflowError `PATH_OUTSIDE`, `FILE_MISSING` */
  static async open(place: ConfinedPath): Promise<Folder> {
    const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
    const handle = await open(place.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(
      (error: NodeJS.ErrnoException) => {
        if (nullIfMissing(error) === null)
          throw pathError("FILE_MISSING", place.name, "is no folder");
        throw error;
      },
    );
    const folder = new Folder(handle, place);
    if (await folder.#isInside()) return folder;
    await folder.close();
    throw outside(place.name);
  }

  /** The path of what bears this name in it. */
  path(name: string): string {
    return join(existsSync(openFiles) ? `${openFiles}/${this.#handle.fd}` : this.#place.path, name);
  }

  /** The folder of this name in it, made when it is missing. This one is closed. */
  async into(name: string): Promise<Folder> {
    try {
      await mkdir(this.path(name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
      const place = { ...this.#place, path: this.path(name), name: join(this.#place.name, name) };
      return await Folder.open(place);
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #isInside(): Promise<boolean> {
    const real = await realpath(this.#place.path).catch(nullIfMissing);
    const now = real === null ? null : await stat(real, { bigint: true }).catch(nullIfMissing);
    const { dev, ino } = await this.#handle.stat({ bigint: true });
    return real !== null && isInside(this.#place.root, real) && now?.dev === dev && now.ino === ino;
  }
}
