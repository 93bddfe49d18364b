import type { Host, Observed, ThreadRef } from "@uncaged/workflow/host";
import type { Source } from "./connections.ts";
import { type Bytes, type Piece, PieceBuilder } from "./sse.ts";
import { isLogItem, type Serializer, ThreadFeed } from "./thread-feed.ts";

type Listening = {
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
  #after: number;
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
      const piece = this.#next === null ? await this.#catchUp() : this.#fromRing(this.#next);
      if (piece && this.#pass(piece)) return piece.bytes;
      const isAtHead = this.#cursor === before && this.#next !== null;
      const notice = isAtHead ? this.#notice() : null;
      if (notice) return notice;
      if (isAtHead && this.#feed.over) return await this.#last();
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

  #fromRing(number: number): Piece | null {
    const piece = this.#feed.ring.piece(number, this.#after);
    this.#next = piece?.next ?? number;
    return piece;
  }

  async #catchUp(): Promise<Piece | null> {
    const { ring, host, ref, serializer } = this.#feed;
    const builder = new PieceBuilder(this.#after);
    this.#own ??= host.observe(ref, this.#cursor || undefined, { until: "now" });
    while (!builder.isFull) {
      const { done, value } = await this.#own.next();
      if (done) {
        this.#own = null;
        break;
      }
      if (isLogItem(value)) builder.add(await serializer.message(value, ref));
    }
    const { piece } = builder;
    this.#next = ring.after(piece?.cursor ?? this.#cursor);
    if (this.#next === null) return piece;
    void this.#own?.return(undefined);
    this.#own = null;
    return piece;
  }

  /** Takes a piece's cursor; whether there is anything to send. */
  #pass({ bytes, cursor, last }: Piece): boolean {
    this.#cursor = cursor;
    this.#over = last;
    // What comes after a message that was sent is sent too.
    if (bytes.length > 0) this.#after = 0;
    return bytes.length > 0;
  }

  #notice(): Bytes | null {
    const { over, state, serializer } = this.#feed;
    if (over || state === null || state === "removed" || state.status === this.#shown) return null;
    this.#shown = state.status;
    return serializer.status(state);
  }

  /** How the thread ended, where its end record is not among what was observed. */
  async #last(): Promise<Bytes | null> {
    const { failed, state, serializer, host, ref } = this.#feed;
    this.#over = true;
    if (failed) return null;
    // Nothing is observed of a thread that had ended before.
    return await serializer.over(state ?? (await host.read(ref)), ref, this.#cursor);
  }
}
