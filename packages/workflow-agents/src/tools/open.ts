import { constants, existsSync } from "node:fs";
import { type FileHandle, mkdir, open, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { type ConfinedPath, isInside, nullIfMissing } from "./path.ts";
import { fileNotOpened, missingFile, notAFile, outside, parentNotFolder } from "./errors.ts";

// These functions are in their own file, so that importing the types of paths does not require Node's types.

/** Opens a regular file inside the root. Does not block at a FIFO, and throws for devices and folders. */
export async function openConfined(
  place: ConfinedPath,
  flags: number,
  mode?: number,
): Promise<FileHandle> {
  const file = await openInside(place, flags | constants.O_NONBLOCK, mode);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw notAFile(place.name);
}

// Maximum number of tries to open a path. If another tool replaces the file during the open, the next try opens the new
// file.
const mostReplaced = 10;

/** Opens a path, and throws if the opened file is outside the root. */
async function openInside(
  place: ConfinedPath,
  flags: number,
  mode?: number,
  tries = mostReplaced,
): Promise<FileHandle> {
  const opened = await openAt(place, flags, mode);
  const found = await whereIs(opened, place).catch(async (error: unknown) => {
    await opened.close();
    throw error;
  });
  if (found === "inside") return opened;
  await opened.close();
  if (found === "replaced" && tries > 1) return await openInside(place, flags, mode, tries - 1);
  throw outside(place.name);
}

/** Opens a path, and throws if its last part is a link. */
async function openAt(place: ConfinedPath, flags: number, mode?: number): Promise<FileHandle> {
  return await open(place.path, flags | constants.O_NOFOLLOW, mode).catch(
    (error: NodeJS.ErrnoException) => {
      const { code = "" } = error;
      if (code === "ELOOP") throw outside(place.name);
      if (code === "EISDIR" || code === "ENXIO") throw notAFile(place.name);
      if (code === "ENOENT" || code === "ENOTDIR") {
        throw code === "ENOENT" ? missingFile(place.name) : parentNotFolder(place.name);
      }
      throw fileNotOpened(place.name, code);
    },
  );
}

/** Returns whether a path still leads to the opened file, and the file is inside the root. */
async function whereIs(
  opened: FileHandle,
  { root, path }: ConfinedPath,
): Promise<"inside" | "outside" | "replaced"> {
  const { dev, ino } = await opened.stat({ bigint: true });
  // In Bun, `realpath` reports a file that is replaced during the call as missing.
  const real = await realpath(path).catch(nullIfMissing);
  if (real === null) return "replaced";
  if (!isInside(root, real)) return "outside";
  const now = await stat(real, { bigint: true }).catch(nullIfMissing);
  return now?.dev === dev && now.ino === ino ? "inside" : "replaced";
}

const openFiles = "/proc/self/fd";

/** An open folder. On Linux, operations stay in the open folder even if its path leads to another folder later. */
export class Folder {
  readonly #handle: FileHandle;
  readonly #place: ConfinedPath;

  private constructor(handle: FileHandle, place: ConfinedPath) {
    this.#handle = handle;
    this.#place = place;
  }

  static async open(place: ConfinedPath): Promise<Folder> {
    return new Folder(await openInside(place, constants.O_RDONLY | constants.O_DIRECTORY), place);
  }

  path(name: string): string {
    return join(existsSync(openFiles) ? `${openFiles}/${this.#handle.fd}` : this.#place.path, name);
  }

  /** Opens a subfolder, and creates it if it is missing. Closes this folder. */
  async into(name: string): Promise<Folder> {
    try {
      const path = this.path(name);
      await mkdir(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
      return await Folder.open({ ...this.#place, path, name: join(this.#place.name, name) });
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}
