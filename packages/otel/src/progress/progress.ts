import { join } from "node:path";
import { appendLines, isRecord, readOwnFile, writeFileAtomic } from "@uncaged/workflow/internal";

const mostBytes = 16 * 1024 * 1024;
const rewriteBytes = 1024 * 1024;
// Maximum delay between the creation of a thread and the arrival of its first change, in milliseconds.
const slackMs = 60_000;

/**
 * The progress of the export, in the storage root's `telemetry.jsonl`: the exported attempts of open threads, and the
 * threads whose export is complete. Each line is written after the collector has accepted the spans, so a crash in
 * between repeats an export with the same ids.
 */
export class Progress {
  readonly #path: string;
  readonly #isCaughtUp: () => boolean;
  /**
   * The export of an ended thread that was created before this time, in milliseconds since the epoch, is complete
   * unless the thread is in `#open`.
   */
  #since: number;
  readonly #open = new Map<string, Set<string>>();
  /**
   * The threads whose export is complete, each with the time of its entry, in milliseconds since the epoch. An entry is
   * kept until `#since` has passed that time. Before that, a late change would export a thread without an entry again.
   */
  readonly #ended = new Map<string, number>();
  #bytes = 0;

  private constructor(path: string, since: number, isCaughtUp: () => boolean) {
    this.#path = path;
    this.#since = since;
    this.#isCaughtUp = isCaughtUp;
  }

  /**
   * Reads the file of a storage root. Without a file, threads that ended earlier are not exported. `isCaughtUp` tells
   * whether `#open` contains every thread with an incomplete export that was created more than a minute ago.
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
      // A crash left an incomplete line. The spans of the line are exported again.
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

  /** The ids of the open threads. */
  get open(): string[] {
    return [...this.#open.keys()];
  }

  /** Returns the exported attempts of a thread, and adds the thread to the open threads. */
  exported(thread: string): Set<string> {
    const known = this.#open.get(thread) ?? new Set<string>();
    this.#open.set(thread, known);
    return known;
  }

  /** Tells whether all spans of a thread are exported. `isOver` tells whether the thread has ended. */
  isComplete(thread: string, createdAt: number, isOver: boolean): boolean {
    if (this.#ended.has(thread)) return true;
    return isOver && createdAt < this.#since && !this.#open.has(thread);
  }

  add(thread: string, attempts: readonly string[]): void {
    const exported = this.exported(thread);
    for (const id of attempts) exported.add(id);
    this.#append({ thread, attempts });
  }

  /** Records that the export of a thread is complete, or that the thread was removed. */
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

  /** Rewrites the file with only the current entries. */
  rewrite(): void {
    const now = Date.now();
    // `#since` may come from a clock that was ahead. It must not be in the future.
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
