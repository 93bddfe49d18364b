import { isUtf8 } from "node:buffer";

/**
 * A line: its JSON value, undefined when it is no JSON in UTF-8; its bytes without the newline; the position at
 * which it begins, and the one behind it. A position is a number of bytes.
 */
export type Line = { value: unknown; bytes: Buffer; start: number; position: number };

/** Whole lines of a file, from the position `start` on; `rest` are the bytes at its end that are none. */
export type Window = { bytes: Buffer; start: number; rest: Buffer };

export const newline = 10;

/** The lines of a window, of which {@link lineOffsets} gives the offsets. */
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

/** Where each line begins, and last where the line after them would. */
export function lineOffsets(bytes: Uint8Array): number[] {
  const offsets = [0];
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) {
    offsets.push(at + 1);
  }
  return offsets;
}

/** Parsed lines; null when one of them is not JSON in UTF-8. */
function valuesOf(bytes: Buffer, offsets: readonly number[]): unknown[] | null {
  if (!isUtf8(bytes)) return null;
  try {
    // Bun's parser refuses two values on one line and passes over blank lines and line ends inside a
    // value, so as many values as newlines means one value on each line.
    const values = Bun.JSONL.parse(bytes);
    return values.length === offsets.length - 1 ? values : null;
  } catch {
    return null;
  }
}

/** The value of a line without its newline. */
export function valueOf(line: Buffer, holding?: readonly string[]): unknown {
  if (holding?.every((text) => !line.includes(text)) || !isUtf8(line)) return undefined;
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}
