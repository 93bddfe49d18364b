import { isUtf8 } from "node:buffer";

/**
 * A line: its JSON value, undefined when it is not JSON in UTF-8; its bytes without the newline; its start, and the
 * position after it. Positions are in bytes.
 */
export type Line = { value: unknown; bytes: Buffer; start: number; position: number };

/** Whole lines of a file from the position `start` on, and `rest`, the bytes after the last newline. */
export type Window = { bytes: Buffer; start: number; rest: Buffer };

export const newline = 10;

/** Returns the lines of a window, given their {@link lineOffsets}. */
export function linesOf(
  { bytes, start }: Window,
  offsets = lineOffsets(bytes),
  holding?: readonly string[],
): Line[] {
  const values = holding ? null : valuesOf(bytes, offsets);
  const lines: Line[] = [];
  for (let n = 1; n < offsets.length; n += 1) {
    const offset = offsets[n - 1] as number;
    const end = offsets[n] as number;
    const line = bytes.subarray(offset, end - 1);
    const value = values ? values[n - 1] : valueOf(line, holding);
    lines.push({ value, bytes: line, start: start + offset, position: start + end });
  }
  return lines;
}

/** Returns the start of each line, and last the position after all lines. */
export function lineOffsets(bytes: Uint8Array): number[] {
  const offsets = [0];
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) {
    offsets.push(at + 1);
  }
  return offsets;
}

/** Parses lines; null when a line is not JSON in UTF-8. */
function valuesOf(bytes: Buffer, offsets: readonly number[]): unknown[] | null {
  if (!isUtf8(bytes)) return null;
  try {
    // Bun's parser refuses two values on one line, and skips blank lines and line breaks inside a value. So if the
    // counts of values and newlines are equal, each line has one value.
    const values = Bun.JSONL.parse(bytes);
    return values.length === offsets.length - 1 ? values : null;
  } catch {
    return null;
  }
}

/** Parses a line without its newline. */
export function valueOf(line: Buffer, holding?: readonly string[]): unknown {
  if (holding?.every((text) => !line.includes(text)) || !isUtf8(line)) return undefined;
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}
