import { type Line, lineOffsets, linesOf, newline, valueOf, type Window } from "../record/lines.ts";
import { byteAt, ifThere, readFully, sizeOf, whileOpen, withFile } from "./files.ts";
import { replacedError } from "../record/errors.ts";

// Sizes are in bytes. With larger windows, the garbage collector runs during parsing.
const windowSize = 512 * 1024;
const pieceSize = 64 * 1024;
const firstPiece = 4 * 1024;

/**
 * A file of lines that another process may append to. Ignores the text after the last newline. A missing file is like
 * an empty file. The file is open only while a generator runs, so a reader can stop at any line, and a later reader,
 * even in another process, can continue after this line.
 */
export class LineFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Yields the lines after a position. With `holding`, only lines that contain one of these texts are parsed; the value
   * of other lines is undefined. Calls `onRead` after each read of the file.
   * @throws WorkflowError `LOG_REPLACED` when the file is shorter than the position.
   */
  forward(from = 0, holding?: readonly string[], onRead?: () => void): Generator<Line> {
    const { path } = this;
    return whileOpen(path, function* (fd) {
      if (sizeOf(fd) < from) throw replacedError(path);
      for (const window of windowsOf(fd, { from, size: pieceSize })) {
        onRead?.();
        yield* linesOf(window, undefined, holding);
      }
    });
  }

  /** Returns the text after the last line, which ends at `from`; empty if another line has been added. */
  rest(from: number): Buffer {
    const read = (fd: number) => {
      for (const { bytes, rest } of windowsOf(fd, { from })) return bytes.length > 0 ? null : rest;
      return null;
    };
    return ifThere(() => withFile(this.path, read)) ?? Buffer.alloc(0);
  }

  /** Yields the lines, last first. */
  backward(): Generator<Line> {
    return whileOpen(this.path, backwardOf);
  }

  /** Returns the position after the last line. */
  end(): number {
    for (const { position } of this.backward()) return position;
    return 0;
  }

  /** Returns whether a line ends at a position, or the position is 0. */
  endsAt(position: number): boolean {
    const before = () => withFile(this.path, (fd) => byteAt(fd, position - 1));
    return position === 0 || ifThere(before) === newline;
  }

  /** Returns the number of lines up to a position and the start of the last line; null when no line ends there. */
  countTo(to: number): { count: number; lastStart: number } | null {
    const lines = { count: 0, lastStart: 0 };
    if (to === 0) return lines;
    const count = (fd: number) => {
      let end = 0;
      for (const { bytes, start } of windowsOf(fd, { to, size: pieceSize })) {
        const offsets = lineOffsets(bytes);
        lines.count += offsets.length - 1;
        lines.lastStart = start + (offsets.at(-2) ?? 0);
        end = start + bytes.length;
      }
      return end === to ? lines : null;
    };
    return ifThere(() => withFile(this.path, count));
  }
}

type WindowsOptions = { from?: number; to?: number; size?: number };

/** Yields a part of a file in windows of whole lines. Needs memory for one window, or for the longest line. */
export function* windowsOf(
  fd: number,
  { from = 0, to = Number.POSITIVE_INFINITY, size = windowSize }: WindowsOptions = {},
): Generator<Window> {
  const total = Math.min(sizeOf(fd), to);
  let start = from;
  for (let capacity = size; start < total; ) {
    const length = Math.min(capacity, total - start);
    const buffer = Buffer.allocUnsafe(length);
    const read = readFully(fd, buffer, start);
    // A file that is truncated during the read is shorter than its reported size.
    const isLast = read < length || start + read >= total;
    const end = buffer.subarray(0, read).lastIndexOf(newline) + 1;
    if (end === 0 && !isLast) {
      capacity *= 2;
      continue;
    }
    const rest = isLast ? buffer.subarray(end, read) : buffer.subarray(0, 0);
    yield { bytes: buffer.subarray(0, end), start, rest };
    if (isLast) return;
    start += end;
    capacity = size;
  }
}

/** Yields the lines, last first. Reads windows from the end; a line may span several windows. */
function* backwardOf(fd: number): Generator<Line> {
  let from = sizeOf(fd);
  let rest: Buffer = Buffer.alloc(0);
  let isTorn = true;
  for (let length = firstPiece; from > 0; ) {
    const piece = Buffer.allocUnsafe(Math.min(length, from));
    from -= piece.length;
    if (readFully(fd, piece, from) < piece.length) return;
    rest = Buffer.concat([piece, rest]);
    length = Math.max(Math.min(length * 4, pieceSize), rest.length);
    if (isTorn) {
      const end = rest.lastIndexOf(newline) + 1;
      if (end === 0) continue;
      rest = rest.subarray(0, end);
      isTorn = false;
    }
    while (rest.length > 0) {
      const start = rest.length === 1 ? 0 : rest.lastIndexOf(newline, rest.length - 2) + 1;
      if (start === 0 && from > 0) break;
      const bytes = rest.subarray(start, -1);
      yield { value: valueOf(bytes), bytes, start: from + start, position: from + rest.length };
      rest = rest.subarray(0, start);
    }
  }
}
