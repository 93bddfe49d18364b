import { bigintText, encodeText } from "../contract/intrinsics.ts";
import { asideName, onlyNew, removeQuietly, withFile, writeAll } from "../storage/files.ts";
import type { PreparedLog } from "../system/prewarm.ts";
import { system } from "../system/system.ts";
import { maxRecordBytes, type StartRecord, textOf } from "./record.ts";
import { firstSum, sealed } from "./sum.ts";

/**
 * Writes the log of a new thread under a name aside and has it on the disk, for a worker that then only has to name
 * it ({@link PreparedLog}). Null where that fails: the worker makes the log itself, and has the error. Who prepares it
 * removes what is left of it.
 */
export function prepareLog(path: string, start: StartRecord): PreparedLog | null {
  const aside = asideName(path);
  const write = (bytes: Uint8Array) => (fd: number) => {
    writeAll(fd, bytes);
    system.files.syncData(fd);
  };
  try {
    const { text, sum } = sealed(textOf(start), firstSum);
    const bytes = encodeText(`${text}\n`);
    if (bytes.length > maxRecordBytes) return null;
    withFile(aside, write(bytes), onlyNew);
    const { threadId, timestamp, parameters } = start;
    const rounds = parameters.options.maxRounds;
    return { threadId, timestamp, rounds, aside, size: bytes.length, sum: bigintText(sum, 16) };
  } catch {
    removeQuietly(aside);
    return null;
  }
}
