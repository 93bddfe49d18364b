import { join } from "node:path";
import { appendLines, isRecord, readOwnFile, writeFileAtomic } from "@uncaged/workflow/internal";

const mostBytes = 16 * 1024 * 1024;
const rewriteBytes = 1024 * 1024;
// The change of a new thread may arrive later than its time of creation.
const slackMs = 60_000;

/**
 * The exported attempts of threads that have not ended, and the ended threads, in the storage root's `telemetry.jsonl`.
 * A line is written after the collector has accepted spans, so a crash between the two repeats an export, with the same
 * ids.
 */
export class Progress {
  readonly #path: string;
  readonly #isCaughtUp: () => boolean;
  /** Threads created before this time are complete unless they are in `#open`. */
  #since: number;
  readonly #open = new Map<string, Set<string>>();
  /**
   * The ended threads, with the time of their marks. A mark is kept until late changes of the thread have arrived,
   * because a change without a mark sends the thread again.
   */
  readonly #ended = new Map<string, number>();
  #bytes = 0;

  private constructor(path: string, since: number, isCaughtUp: () => boolean) {
    this.#path = path;
    this.#since = since;
    this.#isCaughtUp = isCaughtUp;
  }

  /**
   * Reads the file of a storage root. Without a file, threads that have ended before are not exported. `isCaughtUp`: all
   * threads created until now, apart from the last minute, are open or ended here.
   */
  static open(root: string, isCaughtUp: () => boolean): Progress {
    const path = join(root, "telemetry.jsonl");
    const progress = new Progress(path, Date.now(), isCaughtUp);
    const bytes = readOwnFile(path, mostBytes);
    for (const line of Buffer.from(bytes ?? [])
      .toString()
      .split("\n"))
      progress.#take(line);
    return progress;
  }

  #take(line: string): void {
    let record: unknown;
    try {
      record = JSON.parse(line);
    } catch {
      // A crash tore the line: its spans are exported again.
      return;
    }
    if (!isRecord(record)) return;
    const { since, thread, attempts, ended } = record;
    if (typeof since === "number") this.#since = since;
    if (typeof thread !== "string") return;
    if (typeof ended === "number") this.#end(thread, ended);
    else if (Array.isArray(attempts)) {
      const exported = this.exported(thread);
      for (const id of attempts) exported.add(String(id));
    }
  }

  get since(): number {
    return this.#since;
  }

  /** The ids of the threads that were open when the file was last written. */
  get open(): string[] {
    return [...this.#open.keys()];
  }

  /** The exported attempts of a thread, which is open from now on. */
  exported(thread: string): Set<string> {
    const known = this.#open.get(thread) ?? new Set<string>();
    this.#open.set(thread, known);
    return known;
  }

  /** Whether all spans of a thread are exported. `isOver`: it has ended. */
  isComplete(thread: string, createdAt: number, isOver: boolean): boolean {
    if (this.#ended.has(thread)) return true;
    return isOver && createdAt < this.#since && !this.#open.has(thread);
  }

  add(thread: string, attempts: readonly string[]): void {
    const exported = this.exported(thread);
    for (const id of attempts) exported.add(id);
    this.#append({ thread, attempts });
  }

  /** Notes that a thread is exported whole, or removed. */
  end(thread: string): void {
    const now = Date.now();
    this.#end(thread, now);
    this.#append({ thread, ended: now });
  }

  #end(thread: string, at: number): void {
    this.#open.delete(thread);
    this.#ended.set(thread, at);
  }

  #append(record: Record<string, unknown>): void {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    if (appendLines(this.#path, line, mostBytes) === null) this.rewrite();
    this.#bytes += line.length;
    if (this.#bytes > rewriteBytes) this.rewrite();
  }

  /** Writes a short file. */
  rewrite(): void {
    const now = Date.now();
    // After a clock that was ahead, the time must not stay in the future.
    if (this.#since > now) this.#since = now - slackMs;
    else if (this.#isCaughtUp()) this.#since = Math.max(this.#since, now - slackMs);
    for (const [thread, at] of this.#ended) {
      if (at < this.#since) this.#ended.delete(thread);
    }
    const records = [
      { since: this.#since },
      ...Array.from(this.#open, ([thread, ids]) => ({ thread, attempts: [...ids] })),
      ...Array.from(this.#ended, ([thread, ended]) => ({ thread, ended })),
    ];
    writeFileAtomic(this.#path, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
    this.#bytes = 0;
  }
}
