import { constants, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import { diskError, systemCode } from "../storage/disk-error.ts";

/**
 * What a file that the user named is, with a sentence for each way in which it is none.
 *
 * @throws WorkflowError `NO_SUCH_FILE` (missing), `NOT_A_FILE`, `BAD_PATH` (usage), `EMPTY_FILE`, and
 * what the disk refuses.
 */
export async function statSource(path: string): Promise<Stats> {
  try {
    return checkStats(path, await stat(path));
  } catch (error) {
    throw pathError(path, error);
  }
}

/**
 * The bytes of a file that the user named, at most `maxBytes`. Waits at no FIFO.
 *
 * @throws WorkflowError as {@link statSource}, and `FILE_TOO_LARGE`.
 */
export async function readSource(path: string, maxBytes: number): Promise<Uint8Array> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size } = checkStats(path, await file.stat());
    if (size > maxBytes) throw tooLarge(path, size, maxBytes);
    const bytes = new Uint8Array(await file.readFile());
    if (bytes.length > maxBytes) throw tooLarge(path, bytes.length, maxBytes);
    return bytes;
  } catch (error) {
    throw pathError(path, error);
  } finally {
    await file?.close();
  }
}

function checkStats(path: string, stats: Stats): Stats {
  if (!stats.isFile()) {
    throw new WorkflowError({
      code: "NOT_A_FILE",
      kind: "usage",
      message: `${show(path)} is ${stats.isDirectory() ? "a folder" : "no regular file"}`,
      hint: "name the file itself",
    });
  }
  if (stats.size > 0) return stats;
  throw new WorkflowError({
    code: "EMPTY_FILE",
    kind: "failed",
    message: `${show(path)} is empty`,
    hint: "build it again, and see that the disk is not full",
  });
}

function tooLarge(path: string, size: number, maxBytes: number): WorkflowError {
  return new WorkflowError({
    code: "FILE_TOO_LARGE",
    kind: "failed",
    message: `${show(path)} has ${size} bytes, ${maxBytes} are the most`,
    hint: "keep data out of the file and read it in run",
  });
}

function pathError(path: string, error: unknown): unknown {
  if (error instanceof WorkflowError) return error;
  const system = systemCode(error);
  if (system === "ENOENT" || system === "ENOTDIR") {
    return new WorkflowError({
      code: "NO_SUCH_FILE",
      kind: "missing",
      message: `there is no file ${show(path)}`,
      hint: "check the path; it counts from the folder that you are in",
    });
  }
  if (system === "ENAMETOOLONG" || system?.startsWith("ERR_INVALID_ARG")) {
    return new WorkflowError({
      code: "BAD_PATH",
      kind: "usage",
      message: `${show(path)} can't be a path`,
      hint: "check the path",
    });
  }
  return diskError(error, "read", path);
}
