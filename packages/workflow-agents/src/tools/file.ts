import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, rename, rm } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { Folder, openConfined } from "./open.ts";
import { type ConfinedPath, confinedPath, nearestConfined, pathError } from "./path.ts";

/** The longest file that a tool reads or writes, in bytes. */
export const longestFile = 10 * 1024 * 1024;

/**
 * A text file's content, with its line ends and byte order mark as they are.
 *
 * @throws WorkflowError `FILE_TOO_LONG` over 10 MB, `NOT_TEXT` for what is no UTF-8 text, and those of
 * {@link confinedPath} and {@link openConfined}.
 */
export async function readText(
  cwd: string,
  given: string,
): Promise<{ place: ConfinedPath; text: string }> {
  const { place, bytes } = await readConfined(cwd, given);
  return { place, text: decoded(place.name, bytes) };
}

/**
 * A file's bytes.
 *
 * @param most The longest that it may be.
 * @throws WorkflowError `FILE_TOO_LONG`, and those of {@link confinedPath} and {@link openConfined}.
 */
export async function readConfined(
  cwd: string,
  given: string,
  most = longestFile,
): Promise<{ place: ConfinedPath; bytes: Uint8Array }> {
  const place = await confinedPath(cwd, given);
  const file = await openConfined(place, constants.O_RDONLY);
  try {
    const { size } = await file.stat();
    if (size > most) throw tooLong(place.name, size, most);
    const bytes = await readAll(file, size, most);
    if (bytes.length > most) throw tooLong(place.name, bytes.length, most);
    return { place, bytes };
  } finally {
    await file.close();
  }
}

// A file may grow while it is read, and what is in /proc has no size.
async function readAll(file: FileHandle, size: number, most: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let length = 0; length <= most; ) {
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

const tooLong = (name: string, size: number, most: number) => {
  const problem = `is too long: ${size} bytes, and ${most / 1024 / 1024} MB is the most`;
  return pathError("FILE_TOO_LONG", name, problem, "search it, or work on a part of it");
};

/**
 * Writes a text file whole, or leaves it as it was: a new file takes the old one's place and its
 * mode, so another name of the same file keeps what it had. Makes missing folders.
 *
 * @throws WorkflowError `FILE_TOO_LONG`, `GIT_FOLDER` for a path in a repository's own folder, and
 * those of {@link confinedPath} and {@link openConfined}.
 */
export async function writeText(
  cwd: string,
  given: string,
  text: string,
): Promise<{ place: ConfinedPath; created: boolean }> {
  return await writeConfined(cwd, given, Buffer.from(text));
}

/** How a file is written: `isNew` refuses one that is there, `most` is the longest that it may be. */
export type WriteOptions = { isNew?: boolean; most?: number };

/**
 * Writes a file's bytes as {@link writeText} does a text.
 *
 * @throws WorkflowError `FILE_EXISTS` where `isNew` asks for a new one, and those of {@link writeText}.
 */
export async function writeConfined(
  cwd: string,
  given: string,
  bytes: Uint8Array,
  { isNew = false, most = longestFile }: WriteOptions = {},
): Promise<{ place: ConfinedPath; created: boolean }> {
  if (bytes.length > most) throw tooLong(given, bytes.length, most);
  const { folder, base, place } = await placeToWrite(cwd, given);
  try {
    const created = await writeIn(folder, { ...place, path: folder.path(base) }, bytes, isNew);
    return { place, created };
  } finally {
    await folder.close();
  }
}

/** Writes a file into an open folder; returns whether it is new. */
async function writeIn(
  folder: Folder,
  place: ConfinedPath,
  bytes: Uint8Array,
  isNew: boolean,
): Promise<boolean> {
  const old = await openConfined(place, constants.O_RDONLY).catch((error: { code?: string }) => {
    if (error.code === "FILE_MISSING") return null;
    throw error;
  });
  const mode = old ? (await old.stat()).mode & 0o777 : 0o644;
  await old?.close();
  if (old && isNew) throw exists(place);
  const path = folder.path(`.${randomBytes(8).toString("hex")}.tmp`);
  const { O_WRONLY, O_CREAT, O_EXCL } = constants;
  try {
    const file = await openConfined({ ...place, path }, O_WRONLY | O_CREAT | O_EXCL, mode);
    try {
      await file.writeFile(bytes);
      if (old) await file.chmod(mode);
    } finally {
      await file.close();
    }
    await (isNew ? linkNew(path, place) : rename(path, place.path));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return old === null;
}

// A rename would take the place of a file that another has made since.
async function linkNew(path: string, place: ConfinedPath): Promise<void> {
  await link(path, place.path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "EEXIST" ? exists(place) : error;
  });
  await rm(path);
}

const exists = ({ name }: ConfinedPath) =>
  pathError("FILE_EXISTS", name, "is there already", "give another path, or allow to overwrite it");

type Target = { folder: Folder; base: string; place: ConfinedPath };

/** Where a file is to be written: its folder, made and open, and its name there. */
async function placeToWrite(cwd: string, given: string): Promise<Target> {
  const { place: found, missing } = await nearestConfined(cwd, given);
  const { root } = found;
  const path = join(found.path, ...missing);
  const place: ConfinedPath = { root, path, name: join(found.name, ...missing) };
  // A hook or a setting in there is a command that Git runs, outside of any tool.
  if (/(^|[\\/])\.git([\\/]|$)/i.test(place.name)) {
    throw pathError("GIT_FOLDER", given, "is Git's own", "use Git's commands to change it");
  }
  if (path === root) throw pathError("NOT_A_FILE", given, "is no plain file");
  const above = missing.length > 0 ? found.path : dirname(path);
  let folder = await Folder.open({ root, path: above, name: relative(root, above) || "." });
  for (const name of missing.slice(0, -1)) folder = await folder.into(name);
  return { folder, base: basename(path), place };
}
