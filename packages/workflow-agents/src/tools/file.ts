import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, rename, rm } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { Folder, openConfined } from "./open.ts";
import { type ConfinedPath, confinedPath, nearestConfined } from "./path.ts";
import { fileExists, fileTooLong, gitFolder, notAFile, notText } from "./errors.ts";

const longestFile = 10 * 1024 * 1024;

/** Decodes bytes as text, including a byte order mark. Throws for invalid UTF-8. */
export const textIn = (bytes: Uint8Array): string =>
  new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/**
 * Returns the unchanged content of a text file.
 * @throws WorkflowError `NOT_TEXT`, and the errors of {@link readConfined}.
 */
export async function readText(
  cwd: string,
  given: string,
): Promise<{ place: ConfinedPath; text: string }> {
  const { place, bytes } = await readConfined(cwd, given);
  try {
    const text = textIn(bytes);
    if (!text.includes("\0")) return { place, text };
  } catch {}
  throw notText(place.name);
}

/**
 * Returns the bytes of a file with at most `most` bytes.
 * @throws WorkflowError `FILE_TOO_LONG`, and the errors of {@link confinedPath}.
 */
export async function readConfined(
  cwd: string,
  given: string,
  most = longestFile,
): Promise<{ place: ConfinedPath; bytes: Uint8Array }> {
  const place = await confinedPath(cwd, given);
  const file = await openConfined(place, constants.O_RDONLY);
  try {
    return { place, bytes: await contentOf(file, place, most) };
  } finally {
    await file.close();
  }
}

async function contentOf(
  file: FileHandle,
  { name }: ConfinedPath,
  most: number,
): Promise<Uint8Array> {
  const { size } = await file.stat();
  if (size > most) throw fileTooLong(name, size, most);
  const pieces: Buffer[] = [];
  let length = 0;
  // A file may grow during the read, and files in /proc report no size.
  while (length <= most) {
    const piece = Buffer.alloc(Math.max(size - length, 0) + 1024);
    const { bytesRead } = await file.read(piece, 0, piece.length);
    if (bytesRead === 0) return Buffer.concat(pieces);
    length += bytesRead;
    pieces.push(piece.subarray(0, bytesRead));
  }
  throw fileTooLong(name, length, most);
}

/** The content of a file: its bytes, null for a missing file, or `too long` for more than 10 MB. */
export type Content = Uint8Array | null | "too long";

/**
 * Options of a write. `isNew` refuses an existing file, and `most` limits the length. `onWrite` gets the old content
 * after all checks have passed. The file changes only after `onWrite` resolves.
 */
export type WriteOptions = {
  isNew?: boolean;
  most?: number;
  onWrite?: (place: ConfinedPath, before: Content) => Promise<void>;
};

/**
 * Writes a file atomically. A new file replaces the old file and gets its mode, so other hard links of the old file
 * keep their content. Creates missing folders.
 * @throws WorkflowError `FILE_TOO_LONG`, `GIT_FOLDER`, `FILE_EXISTS`, and the errors of {@link confinedPath}.
 */
export async function writeConfined(
  cwd: string,
  given: string,
  content: Uint8Array | string,
  { isNew = false, most = longestFile, onWrite }: WriteOptions = {},
): Promise<{ place: ConfinedPath; created: boolean }> {
  const size = Buffer.byteLength(content);
  if (size > most) throw fileTooLong(given, size, most);
  const { folder, base, place } = await placeToWrite(cwd, given);
  try {
    const target = { ...place, path: folder.path(base) };
    const created = await writeIn(folder, target, content, { isNew, onWrite });
    return { place, created };
  } finally {
    await folder.close();
  }
}

async function writeIn(
  folder: Folder,
  place: ConfinedPath,
  content: Uint8Array | string,
  { isNew, onWrite }: WriteOptions,
): Promise<boolean> {
  const old = await openConfined(place, constants.O_RDONLY).catch((error: { code?: string }) => {
    if (error.code === "FILE_MISSING") return null;
    throw error;
  });
  const mode = old ? (await old.stat()).mode & 0o777 : 0o644;
  const before = old && onWrite ? await shortContentOf(old, place) : null;
  await old?.close();
  if (old && isNew) throw fileExists(place.name);
  const path = folder.path(`.${randomBytes(8).toString("hex")}.tmp`);
  const { O_WRONLY, O_CREAT, O_EXCL } = constants;
  try {
    const file = await openConfined({ ...place, path }, O_WRONLY | O_CREAT | O_EXCL, mode);
    try {
      await file.writeFile(content);
      if (old) await file.chmod(mode);
    } finally {
      await file.close();
    }
    await onWrite?.(place, before);
    // With `isNew`, a rename could replace a file that another process created meanwhile, but a link cannot.
    await (isNew ? link(path, place.path) : rename(path, place.path));
    if (isNew) await rm(path);
  } catch (error) {
    await rm(path, { force: true });
    throw (error as { code?: string }).code === "EEXIST" ? fileExists(place.name) : error;
  }
  return old === null;
}

const shortContentOf = (file: FileHandle, place: ConfinedPath): Promise<Content> =>
  contentOf(file, place, longestFile).catch((error: { code?: string }) => {
    if (error.code === "FILE_TOO_LONG") return "too long";
    throw error;
  });

/** Removes the file that {@link writeConfined} would write. Ignores a missing file. */
export async function removeConfined(cwd: string, given: string): Promise<void> {
  const { folder, base } = await placeToWrite(cwd, given);
  try {
    await rm(folder.path(base), { force: true });
  } finally {
    await folder.close();
  }
}

type Target = { folder: Folder; base: string; place: ConfinedPath };

/** Creates and opens the folder of a file to write. Returns the open folder, and the name of the file in it. */
async function placeToWrite(cwd: string, given: string): Promise<Target> {
  const { place: found, missing } = await nearestConfined(cwd, given);
  const { root } = found;
  const path = join(found.path, ...missing);
  const place: ConfinedPath = { root, path, name: join(found.name, ...missing) };
  // Git executes hooks and settings in `.git` as commands, outside the limits of tools.
  if (/(^|[\\/])\.git([\\/]|$)/i.test(place.name)) {
    throw gitFolder(given);
  }
  if (path === root) throw notAFile(given);
  const above = missing.length > 0 ? found.path : dirname(path);
  let folder = await Folder.open({ root, path: above, name: relative(root, above) || "." });
  for (const name of missing.slice(0, -1)) folder = await folder.into(name);
  return { folder, base: basename(path), place };
}
