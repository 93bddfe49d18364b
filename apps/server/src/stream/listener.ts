import type { Host, Observed, ThreadRef } from "@uncaged/workflow/host";
import type { Source } from "./connections.ts";
import { type Bytes, pieceBytes, sizeOf, type SseMessage } from "./sse.ts";
import { isLogItem, type Serializer, ThreadFeed } from "./thread-feed.ts";

type Listening = {
  /** The cursor to begin after; the thread's start when absent. */
  cursor?: string;
  /** Leaves out the messages up to this `seq`. */
  after?: number;
};

/** The feeds of the threads that somebody listens to now: one for each thread and serializer. */
export class ThreadFeeds {
  readonly #host: Host;
  readonly #feeds = new Map<string, { feed: ThreadFeed; listeners: number }>();

  constructor(host: Host) {
    this.#host = host;
  }

  listen(ref: ThreadRef, serializer: Serializer, { cursor, after = 0 }: Listening = {}): Source {
    const key = `${serializer.name} ${ref.threadId}`;
    let entry = this.#feeds.get(key);
    // A feed that is over stays so: the thread may have been taken up again, or its log replaced.
    if (!entry || entry.feed.over) {
      entry = { feed: new ThreadFeed(this.#host, ref, cursor, serializer), listeners: 0 };
      this.#feeds.set(key, entry);
    }
    const shared = entry;
    shared.listeners += 1;
    return new Listener(shared.feed, cursor ?? "", after, () => {
      shared.listeners -= 1;
      if (shared.listeners > 0) return;
      if (this.#feeds.get(key) === shared) this.#feeds.delete(key);
      shared.feed.close();
    });
  }
}

/**
 * One that follows a thread at its own pace. It holds a cursor and, at most, a piece of what it reads
 * again: from the feed's ring while it is there, else by an observation of its own, until the two meet.
 */
class Listener implements Source {
  readonly #feed: ThreadFeed;
  readonly #after: number;
  readonly #onClose: () => void;
  #cursor: string;
  /** The number of the message that comes next; null while it is not in the ring. */
  #next: number | null;
  #own: AsyncGenerator<Observed> | null = null;
  #shown: string | null = null;
  #over = false;
  #closed = false;

  constructor(feed: ThreadFeed, cursor: string, after: number, onClose: () => void) {
    this.#feed = feed;
    this.#after = after;
    this.#onClose = onClose;
    this.#cursor = cursor;
    this.#next = feed.ring.after(cursor);
  }

  async next(): Promise<Bytes | null> {
    while (!this.#closed && !this.#over) {
      const before = this.#cursor;
      if (this.#next !== null && !this.#feed.ring.reaches(this.#next)) this.#next = null;
      const pieces = this.#next === null ? await this.#catchUp() : this.#fromRing(this.#next);
      if (pieces.length > 0) return Buffer.concat(pieces);
      const notice = this.#cursor === before && this.#next !== null ? await this.#notice() : null;
      if (notice) return notice;
      // What is not sent to this listener may be followed by what is: others get their turn.
      if (this.#cursor !== before) await new Promise(setImmediate);
      else if (!this.#over) await this.#feed.news();
    }
    this.close();
    return null;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    void this.#own?.return(undefined);
    this.#onClose();
  }

  #fromRing(number: number): Bytes[] {
    const pieces: Bytes[] = [];
    this.#next = number;
    for (let bytes = 0; bytes < pieceBytes && !this.#over; this.#next += 1) {
      const message = this.#feed.ring.at(this.#next);
      if (!message) break;
      bytes += this.#pass(message, pieces);
    }
    return pieces;
  }

  async #catchUp(): Promise<Bytes[]> {
    const { ring, host, ref, serializer } = this.#feed;
    const pieces: Bytes[] = [];
    this.#own ??= host.observe(ref, this.#cursor || undefined, { until: "now" });
    for (let bytes = 0; bytes < pieceBytes && !this.#over; ) {
      const { done, value } = await this.#own.next();
      if (done) {
        this.#own = null;
        break;
      }
      if (isLogItem(value)) bytes += this.#pass(await serializer.message(value), pieces);
    }
    this.#next = ring.after(this.#cursor);
    if (this.#next === null) return pieces;
    void this.#own?.return(undefined);
    this.#own = null;
    return pieces;
  }

  #pass(message: SseMessage, pieces: Bytes[]): number {
    const { cursor, bytes, last = false, seq } = message;
    if (bytes.length > 0 && (seq === undefined || seq > this.#after)) pieces.push(bytes);
    this.#cursor = cursor;
    this.#over = last;
    return sizeOf(message);
  }

  /** At the feed's head: how the thread ended, where no end record says so, or its new status. */
  async #notice(): Promise<Bytes | null> {
    const { over, failed, state, serializer, host, ref } = this.#feed;
    if (over) {
      this.#over = true;
      if (failed) return null;
      // Nothing is observed of a thread that had ended before.
      return await serializer.over(state ?? (await host.read(ref)), this.#cursor);
    }
    if (state === null || state === "removed" || state.status === this.#shown) return null;
    this.#shown = state.status;
    return serializer.status(state);
  }
}
