import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, realpath, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  isInside,
  nearestInside,
  nullIfMissing,
  openInside,
  type Place,
  pathError,
  placeInside,
} from "./inside.ts";

/** The longest file that a tool reads or writes, in bytes. */
export const longestFile = 10 * 1024 * 1024;

/**
 * A text file's content, with its line ends and byte order mark as they are.
 *
 * @throws WorkflowError `FILE_TOO_LONG` over 10 MB, `NOT_TEXT` for what is no UTF-8 text, and those of
 * {@link placeInside} and {@link openInside}.
 */
export async function readText(
  cwd: string,
  given: string,
): Promise<{ place: Place; text: string }> {
  const place = await placeInside(cwd, given);
  const file = await openInside(place, constants.O_RDONLY);
  try {
    const { size } = await file.stat();
    if (size > longestFile) throw tooLong(place.name, size);
    const bytes = await readAll(file, size);
    if (bytes.length > longestFile) throw tooLong(place.name, bytes.length);
    return { place, text: decoded(place.name, bytes) };
  } finally {
    await file.close();
  }
}

// A file may grow while it is read, and what is in /proc has no size.
async function readAll(file: FileHandle, size: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let length = 0; length <= longestFile; ) {
    const piece = Buffer.alloc(Math.max(size - length, 0) + 1024);
    const { bytesRead } = await file.read(piece, 0, piece.length);
    if (bytesRead === 0) break;
    length += bytesRead;
    pieces.push(piece.subarray(0, bytesRead));
  }
  return Buffer.concat(pieces);
}

function decoded(name: string, bytes: Uint8Array): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {}
  throw pathError("NOT_TEXT", name, "is no text", "it is a binary file: leave it as it is");
}

const tooLong = (name: string, size: number) =>
  pathError(
    "FILE_TOO_LONG",
    name,
    `is too long: ${size} bytes, and 10 MB is the most`,
    "search it",
  );

/**
 * Writes a text file whole, or leaves it as it was: a new file takes the old one's place and its
 * mode, so another name of the same file keeps what it had. Makes missing folders.
 *
 * @throws WorkflowError `FILE_TOO_LONG`, `GIT_FOLDER` for a path in a repository's own folder, and
 * those of {@link placeInside} and {@link openInside}.
 */
export async function writeText(
  cwd: string,
  given: string,
  text: string,
): Promise<{ place: Place; created: boolean }> {
  const bytes = Buffer.from(text);
  if (bytes.length > longestFile) throw tooLong(given, bytes.length);
  const place = await placeToWrite(cwd, given);
  const old = await openInside(place, constants.O_RDONLY).catch((error: { code?: string }) => {
    if (error.code === "FILE_MISSING") return null;
    throw error;
  });
  const mode = old ? (await old.stat()).mode & 0o777 : 0o644;
  await old?.close();
  const path = join(dirname(place.path), `.${randomBytes(8).toString("hex")}.tmp`);
  const { O_WRONLY, O_CREAT, O_EXCL } = constants;
  const file = await openInside({ ...place, path }, O_WRONLY | O_CREAT | O_EXCL, mode);
  try {
    await file.writeFile(bytes);
    if (old) await file.chmod(mode);
    await file.close();
    await rename(path, place.path);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return { place, created: old === null };
}

async function placeToWrite(cwd: string, given: string): Promise<Place> {
  const { place, missing } = await nearestInside(cwd, given);
  const whole: Place = {
    root: place.root,
    path: join(place.path, ...missing),
    name: join(place.name, ...missing),
  };
  // A hook or a setting in there is a command that Git runs, outside of any tool.
  if (/(^|[\\/])\.git([\\/]|$)/i.test(whole.name)) {
    throw pathError("GIT_FOLDER", given, "is Git's own", "use Git's commands to change it");
  }
  if (missing.length > 1) {
    const folder = dirname(whole.path);
    await mkdir(folder, { recursive: true });
    const real = await realpath(folder).catch(nullIfMissing);
    if (real === null || !isInside(place.root, real) || real !== folder) {
      throw pathError("PATH_OUTSIDE", given, "leads out of the thread's directory");
    }
  }
  return whole;
}
