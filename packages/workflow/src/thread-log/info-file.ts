import { closeSync, constants, fstatSync, readSync, writeSync } from "node:fs";
import { openOwnFile } from "../storage/read.ts";

const { O_APPEND, O_CREAT, O_RDONLY, O_RDWR } = constants;
const largestLog = 256 * 1024 * 1024;
const newline = 10;

/**
 * The file of a thread's debug log. It is opened for each batch: a worker may have more threads than
 * it may have open files.
 */
export class InfoFile {
  readonly #path: string;
  #room: number | null = null;
  #torn = false;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Appends whole lines. What would make the file longer than 256 MiB is left out, and a last line
   * says so. What a crash or a full disk left half written becomes a line of its own.
   */
  append(text: string): void {
    const fd = openOwnFile(this.#path, O_RDWR | O_APPEND | O_CREAT);
    try {
      this.#room ??= this.#measure(fd);
      const bytes = Buffer.from(this.#torn ? `\n${text}` : text);
      if (bytes.length <= this.#room) this.#write(fd, bytes);
      else if (this.#room > 0) this.#writeLast(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** The `seq` of the last event, or 0. */
  lastSeq(): number {
    try {
      const fd = openOwnFile(this.#path, O_RDONLY);
      try {
        return lastSeqOf(fd);
      } finally {
        closeSync(fd);
      }
    } catch {
      // There is none yet, or it can't be read: the events are numbered anew.
      return 0;
    }
  }

  #measure(fd: number): number {
    const { size } = fstatSync(fd);
    const last = Buffer.alloc(1);
    if (size > 0) readSync(fd, last, 0, 1, size - 1);
    this.#torn = size > 0 && last[0] !== newline;
    return largestLog - size;
  }

  #write(fd: number, bytes: Buffer): void {
    const written = writeSync(fd, bytes);
    this.#torn = written > 0 && bytes[written - 1] !== newline;
    this.#room = (this.#room ?? 0) - written;
  }

  #writeLast(fd: number): void {
    const content = `the debug log has ${largestLog} bytes: what comes now is left out`;
    const record = { tag: "8ZKQ3WCE", content, timestamp: Date.now() };
    writeSync(fd, `${this.#torn ? "\n" : ""}${JSON.stringify(record)}\n`);
    this.#room = 0;
  }
}

/** Reads from the end, in ever larger pieces, until there is an event. */
function lastSeqOf(fd: number): number {
  const { size } = fstatSync(fd);
  for (let length = 64 * 1024; ; length *= 4) {
    const from = Math.max(0, size - length);
    const buffer = Buffer.alloc(size - from);
    readSync(fd, buffer, 0, buffer.length, from);
    const lines = buffer.toString("utf8").split("\n");
    if (from > 0) lines.shift();
    for (const line of lines.toReversed()) {
      const seq = seqOf(line);
      if (seq !== null) return seq;
    }
    if (from === 0) return 0;
  }
}

function seqOf(line: string): number | null {
  try {
    const { seq } = JSON.parse(line) as { seq?: unknown };
    return typeof seq === "number" && Number.isSafeInteger(seq) ? seq : null;
  } catch {
    return null;
  }
}
