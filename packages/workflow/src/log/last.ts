import { fstatSync } from "node:fs";
import type { Step } from "../contract/contract.ts";
import { parseLine, readFully, withFile } from "./read.ts";
import { type EndRecord, faultOfRecord } from "./record.ts";

const newline = 10;
const firstPiece = 4 * 1024;
const mostPiece = 8 * 1024 * 1024;

/**
 * How a log ends: with a step or an end record; with its start record alone (`record` is null); not yet
 * with any line (`empty`); or `unclear`, which only the whole log can tell. `length` is the file's.
 */
export type LogLast =
  | { kind: "record"; record: Step | EndRecord | null; length: number }
  | { kind: "empty" | "unclear" };

/**
 * The last whole line of a log. Only as much of the file's end is read as that line and a torn one
 * behind it take. What stands before it may be broken all the same.
 *
 * @throws the system's error when the file can't be opened or read.
 */
export function readLast(path: string): LogLast {
  return withFile(path, (fd) => {
    const { size } = fstatSync(fd);
    for (let capacity = firstPiece; capacity <= mostPiece; capacity *= 4) {
      const from = Math.max(0, size - capacity);
      const bytes = Buffer.allocUnsafe(size - from);
      if (readFully(fd, bytes, from) < bytes.length) return { kind: "unclear" };
      const end = bytes.lastIndexOf(newline);
      const before = end > 0 ? bytes.lastIndexOf(newline, end - 1) : -1;
      if (before < 0 && from > 0) continue;
      if (end < 0) return { kind: "empty" };
      return lastOf(bytes.subarray(before + 1, end), before < 0, size);
    }
    return { kind: "unclear" };
  });
}

function lastOf(line: Buffer, isFirst: boolean, length: number): LogLast {
  const value = parseLine(line);
  if (value === undefined) return { kind: "unclear" };
  if (isFirst) return { kind: "record", record: null, length };
  if (faultOfRecord(value)) return { kind: "unclear" };
  return { kind: "record", record: value as Step | EndRecord, length };
}
