import { closeSync, constants, fstatSync, writeSync } from "node:fs";
import { openOwnFile } from "../storage/read.ts";
import { LogTail } from "./follow.ts";

/** A line of the debug log. An event has `type`, `stepID`, `payload` and `seq` too. */
export type InfoRecord = {
  tag: string;
  content: string;
  timestamp: number;
  type?: string;
  stepID?: string | null;
  payload?: unknown;
  seq?: number;
};

const flushAfterMs = 50;
const flushAtBytes = 64 * 1024;
const longestLine = 256 * 1024;
const largestLog = 256 * 1024 * 1024;

/**
 * The writer of a thread's debug log, `.info.jsonl`. Lines are gathered and written in batches, not
 * synced, and never in the way of a step: what can't be written, or would make the log longer than
 * 256 MiB, is dropped. It never throws.
 */
export class InfoLog {
  readonly #path: string;
  readonly #mask: (text: string) => string;
  #lines: string[] = [];
  #bytes = 0;
  #room: number | null = null;
  #seq: number | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** `mask` takes secrets out of a text before it is written. */
  constructor(path: string, mask: (text: string) => string = (text) => text) {
    this.#path = path;
    this.#mask = mask;
  }

  /** Adds a line. `tag` is the call site's own: 8 digits of Crockford Base32. */
  log(tag: string, content: string): void {
    this.#add({ tag, content, timestamp: Date.now() });
  }

  /** Adds an event; its number is one more than that of the thread's last. */
  event(tag: string, type: string, stepID: string | null, payload: unknown): void {
    this.#seq = (this.#seq ?? lastSeq(this.#path)) + 1;
    this.#add({ tag, content: type, timestamp: Date.now(), type, stepID, payload, seq: this.#seq });
  }

  /** Writes what is gathered. */
  flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#lines.length === 0) return;
    const text = this.#lines.join("");
    this.#lines = [];
    this.#bytes = 0;
    try {
      this.#room = append(this.#path, text, this.#room);
    } catch {
      // A debug log that can't be written must not stop the thread that it is about.
    }
  }

  #add(record: InfoRecord): void {
    const line = this.#lineOf(record);
    this.#lines.push(line);
    this.#bytes += line.length;
    if (this.#bytes >= flushAtBytes) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), flushAfterMs);
  }

  #lineOf(record: InfoRecord): string {
    try {
      const line = this.#mask(JSON.stringify({ __proto__: null, ...record }));
      if (line.length <= longestLine) return `${line}\n`;
    } catch {
      // What has no JSON (a cycle, a BigInt) is shown by its type alone.
    }
    const { tag, content, timestamp, type, stepID, seq } = record;
    const short = this.#mask(content.slice(0, 1000));
    const kept = {
      tag,
      content: short,
      timestamp,
      type,
      stepID,
      payload: { _truncated: true },
      seq,
    };
    return `${JSON.stringify(type === undefined ? { tag, content: short, timestamp } : kept)}\n`;
  }
}

// The file is opened for each batch: a worker may have more threads than it may have open files.
function append(path: string, text: string, room: number | null): number {
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const fd = openOwnFile(path, O_WRONLY | O_APPEND | O_CREAT);
  try {
    const before = room ?? largestLog - fstatSync(fd).size;
    const left = before - Buffer.byteLength(text);
    if (left >= 0) writeSync(fd, text);
    else if (before > 0) writeSync(fd, lastLine());
    return Math.max(left, 0);
  } finally {
    closeSync(fd);
  }
}

function lastLine(): string {
  const content = `the debug log has ${largestLog} bytes: what comes now is left out`;
  return `${JSON.stringify({ tag: "8ZKQ3WCE", content, timestamp: Date.now() })}\n`;
}

function lastSeq(path: string): number {
  let last = 0;
  try {
    for (const { value } of new LogTail(path).read()) {
      const { seq } = (value ?? {}) as Partial<InfoRecord>;
      if (typeof seq === "number" && seq > last) last = seq;
    }
  } catch {
    // An unreadable debug log numbers its events anew.
  }
  return last;
}
