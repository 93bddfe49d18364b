import { closeSync, constants, fstatSync, readSync, writeSync } from "node:fs";
import { openOwnFile } from "../storage/read.ts";
import { newestEvents } from "./newest.ts";

const { O_APPEND, O_CREAT, O_RDWR } = constants;
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

  /** The `seq` of the last event, or 0: then the events are numbered anew. */
  lastSeq(): number {
    for (const { seq } of newestEvents(this.#path)) return seq;
    return 0;
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
