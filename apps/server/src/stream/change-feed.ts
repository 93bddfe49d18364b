import type { HostEvents } from "../schema/thread.ts";
import type { HostChange } from "./changes.ts";
import type { Source } from "./connections.ts";
import { eventBytes, greeting, heartbeat, heartbeatEveryMs } from "./sse.ts";

const mostKept = 5_000;
const pieceBytes = 64 * 1024;
const retryMs = 1_000;

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * The changes of a host for all who listen now: watched once, while somebody listens, and kept as
 * messages that are ready to be sent. One who is too slow for what is kept is sent `reload`.
 */
export class ChangeFeed {
  readonly #watch: (signal: AbortSignal) => AsyncIterable<HostChange>;
  readonly #listeners = new Set<ChangeListener>();
  #messages: Bytes[] = [];
  #first = 0;
  #begun = Promise.withResolvers<void>();
  #news = Promise.withResolvers<void>();
  #abort: AbortController | null = null;

  constructor(watch: (signal: AbortSignal) => AsyncIterable<HostChange>) {
    this.#watch = watch;
  }

  listen(): Source {
    const listener = new ChangeListener(this, () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    });
    this.#listeners.add(listener);
    if (!this.#abort) void this.#run((this.#abort = new AbortController()));
    return listener;
  }

  /** Resolves when changes are watched: who reads the lists from then on misses none. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Resolves when there is something new, or when it is time for a heartbeat. */
  get news(): Promise<void> {
    return this.#news.promise;
  }

  /** The number of the message that comes next. */
  get next(): number {
    return this.#first + this.#messages.length;
  }

  /** The message with a number; `null` when it is no longer kept. */
  at(number: number): Bytes | null | undefined {
    return number < this.#first ? null : this.#messages[number - this.#first];
  }

  async #run({ signal }: AbortController): Promise<void> {
    const beat = setInterval(() => this.#wake(), heartbeatEveryMs);
    while (!signal.aborted) {
      // A root that can't be watched now may be the next time, which begins with `reload`.
      await this.#pass(signal).catch(() => Bun.sleep(retryMs));
    }
    clearInterval(beat);
  }

  async #pass(signal: AbortSignal): Promise<void> {
    for await (const change of this.#watch(signal)) {
      if (signal.aborted) return;
      this.#begun.resolve();
      this.#push(bytesOf(change));
    }
  }

  #stop(): void {
    this.#abort?.abort();
    this.#abort = null;
    this.#first = this.next;
    this.#messages = [];
    this.#begun = Promise.withResolvers();
  }

  #push(bytes: Bytes): void {
    this.#messages.push(bytes);
    if (this.#messages.length > mostKept * 2) {
      this.#messages = this.#messages.slice(mostKept);
      this.#first += mostKept;
    }
    this.#wake();
  }

  #wake(): void {
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers();
    resolve();
  }
}

function bytesOf(change: HostChange): Bytes {
  if (change.kind === "thread") return message("thread", change.row);
  if (change.kind === "removed") return message("removed", { threadId: change.threadId });
  return message(change.kind, {});
}

const message = <Name extends keyof HostEvents>(name: Name, data: HostEvents[Name]): Bytes =>
  eventBytes(name, data);

const reload = message("reload", {});

class ChangeListener implements Source {
  readonly #feed: ChangeFeed;
  readonly #onClose: () => void;
  /** The number of the message that comes next; null before it was sent anything. */
  #next: number | null = null;
  #sentAt = performance.now();
  #waits = false;
  #closed = false;

  constructor(feed: ChangeFeed, onClose: () => void) {
    this.#feed = feed;
    this.#onClose = onClose;
  }

  get stalledMs(): number {
    return this.#waits ? 0 : performance.now() - this.#sentAt;
  }

  async next(): Promise<Bytes | null> {
    this.#waits = true;
    await this.#feed.begun;
    while (!this.#closed) {
      const bytes = this.#take();
      if (bytes) {
        this.#waits = false;
        this.#sentAt = performance.now();
        return bytes;
      }
      await this.#feed.news;
    }
    return null;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
  }

  #take(): Bytes | null {
    if (this.#next === null || this.#feed.at(this.#next) === null) {
      const first = this.#next === null ? [greeting, reload] : [reload];
      this.#next = this.#feed.next;
      return Buffer.concat(first);
    }
    const pieces: Bytes[] = [];
    for (let bytes = 0; bytes < pieceBytes; ) {
      const piece = this.#feed.at(this.#next);
      if (!piece) break;
      this.#next += 1;
      bytes += piece.length;
      pieces.push(piece);
    }
    if (pieces.length > 0) return Buffer.concat(pieces);
    return performance.now() - this.#sentAt >= heartbeatEveryMs ? heartbeat : null;
  }
}
