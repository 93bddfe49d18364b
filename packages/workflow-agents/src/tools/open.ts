import { constants, existsSync } from "node:fs";
import { type FileHandle, mkdir, open, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { type ConfinedPath, isInside, nullIfMissing } from "./path.ts";
import { fileNotOpened, missingFile, notAFile, outside, parentNotFolder } from "./errors.ts";

// A separate file, so that importing path types does not require Node's types.

/** Opens a plain file. Waits at no FIFO, and opens no device and no folder. */
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

// Another tool may replace a file during the open; then the new file is opened.
const mostReplaced = 10;

/** Opens what a path leads to, when that lies inside. */
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

/** Opens what is at a path, and follows no link at its end. */
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

/** Tells whether the path still leads to the opened file, inside the root. */
async function whereIs(
  opened: FileHandle,
  { root, path }: ConfinedPath,
): Promise<"inside" | "outside" | "replaced"> {
  const { dev, ino } = await opened.stat({ bigint: true });
  // Bun's realpath reports a file as missing that is replaced while it looks.
  const real = await realpath(path).catch(nullIfMissing);
  if (real === null) return "replaced";
  if (!isInside(root, real)) return "outside";
  const now = await stat(real, { bigint: true }).catch(nullIfMissing);
  return now?.dev === dev && now.ino === ino ? "inside" : "replaced";
}

const openFiles = "/proc/self/fd";

/** A folder, held open. On Linux, what is done in it is done there, whatever its name leads to by now. */
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

  /** The folder of this name in it, made when it is missing. This one is closed. */
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
