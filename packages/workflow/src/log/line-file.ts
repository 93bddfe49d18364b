import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, readSync, watch } from "node:fs";
import { type WorkflowError, failedError } from "../contract/error.ts";
import { systemCode } from "../storage/disk-error.ts";
import { openOwnFile } from "../storage/files.ts";

/**
 * A line: its JSON value, undefined when it is no JSON in UTF-8; the position at which it begins, and the
 * one behind it. A position is a number of bytes.
 */
export type Line = { value: unknown; start: number; position: number };

/**
 * Whole lines of a file, from the position `start` on. Of the last window, `torn` counts the bytes behind
 * them that are no whole line.
 */
export type Window = { bytes: Buffer; start: number; torn: number; final: boolean };

const newline = 10;
const windowSize = 8 * 1024 * 1024;
const pieceSize = 64 * 1024;
const firstPiece = 4 * 1024;

/**
 * A file of lines that another process may append to. What stands behind its last newline is not there
 * yet. Nothing is held open but while a generator runs, so that a reader can leave at any line and a later
 * one, in another process too, continues behind it.
 */
export class LineFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * The lines behind a position. A file that is not there has none. Of lines without any of the texts
   * `holding` the value is undefined. `onRead` is called whenever a piece of the file has been read.
   *
   * @throws WorkflowError `LOG_REPLACED` when the file is shorter than the position.
   */
  *forward(from = 0, holding?: readonly string[], onRead?: () => void): Generator<Line> {
    const fd = this.#openIfThere();
    if (fd === null) return;
    try {
      if (fstatSync(fd).size < from) throw this.#replaced();
      for (const window of windowsOf(fd, from, pieceSize)) {
        onRead?.();
        yield* linesOf(window, holding);
      }
    } finally {
      closeSync(fd);
    }
  }

  /** The whole lines, the last one first. A file that is not there has none. */
  *backward(): Generator<Line> {
    const fd = this.#openIfThere();
    if (fd === null) return;
    try {
      yield* backwardOf(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** The position behind the last whole line. */
  end(): number {
    for (const { position } of this.backward()) return position;
    return 0;
  }

  /** Whether a line ends at a position, or it is the start. */
  endsAt(position: number): boolean {
    if (position === 0) return true;
    const fd = this.#openIfThere();
    if (fd === null) return false;
    try {
      const byte = Buffer.alloc(1);
      return readSync(fd, byte, 0, 1, position - 1) === 1 && byte[0] === newline;
    } finally {
      closeSync(fd);
    }
  }

  /** How many lines end up to a position, and where the last of them begins; null when none ends there. */
  countTo(position: number): { count: number; lastStart: number } | null {
    if (position === 0) return { count: 0, lastStart: 0 };
    const fd = this.#openIfThere();
    if (fd === null) return null;
    try {
      return countIn(fd, position);
    } finally {
      closeSync(fd);
    }
  }

  #openIfThere(): number | null {
    try {
      return openOwnFile(this.path, constants.O_RDONLY);
    } catch (error) {
      if (systemCode(error) === "ENOENT") return null;
      throw error;
    }
  }

  #replaced(): WorkflowError {
    return failedError(
      "LOG_REPLACED",
      `${this.path} is shorter than what was read of it`,
      "read it again from the start",
    );
  }
}

/** Has a file of the storage root read while it is open. @throws the system's error. */
export function withFile<T>(path: string, read: (fd: number) => T): T {
  const fd = openOwnFile(path, constants.O_RDONLY);
  try {
    return read(fd);
  } finally {
    closeSync(fd);
  }
}

/** A file in windows; memory: one window, or the longest line. */
export function* windowsOf(fd: number, from = 0, size = windowSize): Generator<Window> {
  const total = fstatSync(fd).size;
  let start = from;
  for (let capacity = size; start < total; ) {
    const buffer = Buffer.allocUnsafe(Math.min(capacity, total - start));
    const length = readFully(fd, buffer, start);
    const end = buffer.subarray(0, length).lastIndexOf(newline) + 1;
    // A file that is cut while it is read gives less than it had.
    const final = length < buffer.length || start + length >= total;
    if (end === 0 && !final) {
      capacity *= 2;
      continue;
    }
    yield { bytes: buffer.subarray(0, end), start, torn: final ? length - end : 0, final };
    if (final) return;
    start += end;
    capacity = size;
  }
}

/** Fills a buffer from a position on; gives how many bytes there were. */
export function readFully(fd: number, buffer: Buffer, position: number): number {
  let length = 0;
  while (length < buffer.length) {
    const n = readSync(fd, buffer, length, buffer.length - length, position + length);
    if (n === 0) break;
    length += n;
  }
  return length;
}

function* linesOf({ bytes, start, final }: Window, holding?: readonly string[]): Generator<Line> {
  const values = holding ? null : valuesOf(bytes);
  for (let offset = 0, at = 0; offset < bytes.length; at += 1) {
    const end = bytes.indexOf(newline, offset);
    const line = bytes.subarray(offset, end);
    const isHeld = holding?.some((text) => line.includes(text)) ?? true;
    const value = values ? values[at] : isHeld ? parseLine(line) : undefined;
    if (isHeld && value === undefined && final && isUnwritten(bytes, offset)) return;
    yield { value, start: start + offset, position: start + end + 1 };
    offset = end + 1;
  }
}

/** Reads piece by piece from the end; the line that a piece begins in waits for the piece before it. */
function* backwardOf(fd: number): Generator<Line> {
  let from = fstatSync(fd).size;
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
      const value = parseLine(rest.subarray(start, -1));
      yield { value, start: from + start, position: from + rest.length };
      rest = rest.subarray(0, start);
    }
  }
}

/** The values of lines that end with a newline each; null when one of them is no JSON in UTF-8. */
export function valuesOf(bytes: Buffer): unknown[] | null {
  if (!isUtf8(bytes)) return null;
  try {
    // Bun's parser refuses two values on one line and passes over blank lines and line ends inside a
    // value, so as many values as newlines means one value on each line.
    const values = Bun.JSONL.parse(bytes);
    return values.length === lineOffsets(bytes).length - 1 ? values : null;
  } catch {
    return null;
  }
}

/** The value of a line without its newline; undefined when it is no JSON in UTF-8. */
export function parseLine(line: Buffer): unknown {
  if (!isUtf8(line)) return undefined;
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Where each whole line begins, and last where the line after them would. */
export function lineOffsets(bytes: Uint8Array): number[] {
  const offsets = [0];
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) {
    offsets.push(at + 1);
  }
  return offsets;
}

/**
 * Whether the line that begins at an offset is the last of a file and was never wholly written: after a
 * loss of power a line may have its newline and zeros before it, blocks that never reached the disk.
 */
export function isUnwritten(bytes: Buffer, offset: number): boolean {
  const end = bytes.indexOf(newline, offset);
  return end === bytes.length - 1 && bytes.subarray(offset, end).includes(0);
}

function countIn(fd: number, to: number): { count: number; lastStart: number } | null {
  const buffer = Buffer.allocUnsafe(Math.min(pieceSize, to));
  let count = 0;
  let lastStart = 0;
  let end = 0;
  for (let from = 0; from < to; ) {
    const length = readSync(fd, buffer, 0, Math.min(buffer.length, to - from), from);
    if (length === 0) return null;
    const piece = buffer.subarray(0, length);
    for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, at + 1)) {
      count += 1;
      lastStart = end;
      end = from + at + 1;
    }
    from += length;
  }
  return end === to ? { count, lastStart } : null;
}

/**
 * Waits for changes of files. One that is not there yet is watched as soon as it is. Not every file system
 * reports changes, hence every wait has a bound.
 */
export class FileWatch {
  readonly #signal: AbortSignal | undefined;
  readonly #watchers = new Map<string, ReturnType<typeof watchFile>>();
  #change = Promise.withResolvers<void>();
  readonly #ring = (): void => this.#change.resolve();

  constructor(paths: readonly string[], signal?: AbortSignal) {
    this.#signal = signal;
    signal?.addEventListener("abort", this.#ring);
    for (const path of paths) this.#watchers.set(path, null);
    this.#watch();
  }

  /**
   * Resolves when a file has changed since it resolved last, when so much time has passed, or when the
   * signal is aborted.
   */
  async changed(atMostMs: number): Promise<void> {
    if (this.#signal?.aborted) return;
    this.#watch();
    const timer = setTimeout(this.#ring, atMostMs);
    await this.#change.promise;
    clearTimeout(timer);
    this.#change = Promise.withResolvers();
  }

  close(): void {
    this.#signal?.removeEventListener("abort", this.#ring);
    for (const watcher of this.#watchers.values()) watcher?.close();
    this.#watchers.clear();
  }

  #watch(): void {
    for (const [path, watcher] of this.#watchers) {
      if (!watcher) this.#watchers.set(path, watchFile(path, this.#ring));
    }
  }
}

function watchFile(path: string, onChange: () => void) {
  try {
    return watch(path, { persistent: false }, onChange).on("error", onChange);
  } catch {
    return null;
  }
}
