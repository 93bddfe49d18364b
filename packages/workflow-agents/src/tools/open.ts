import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import type { WorkflowError } from "@uncaged/workflow";
import { isInside, nullIfMissing, outside, type Place, pathError } from "./inside.ts";

/**
 * Opens a plain file. Waits at no FIFO, and opens no device and no folder.
 *
 * @throws WorkflowError `FILE_MISSING`, `NOT_A_FILE`, `PATH_OUTSIDE`
 */
export async function openInside(place: Place, flags: number, mode?: number): Promise<FileHandle> {
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

function openError(place: Place, error: NodeJS.ErrnoException): WorkflowError {
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
