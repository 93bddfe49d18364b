import type { Host, Observed, ThreadRef, ThreadStatus } from "@uncaged/workflow/host";
import type { Source } from "./connections.ts";
import { type Bytes, type Piece, PieceBuilder, Ring, sizeOf, type SseMessage } from "./sse.ts";

/*
 * Owns: the shared observation of a thread for all listeners with one serializer, its newest messages, and its newest
 * status. Does not own: the listeners' cursors and their sent messages.
 *
 * F1 The feed reads more items only when a listener has taken all messages. Without listeners it reads nothing.
 * F2 The ring has each item of the observation once, in order, so that a listener with the cursor of a message can
 *    continue from the ring or from its own observation, with the same result.
 */

const batchBytes = 256 * 1024;
const ringBytes = 512 * 1024;

/** Converts the items of a thread to the messages of a stream. Streams with one `name` share a feed. */
export interface Serializer {
  readonly name: string;
  /** Returns the message for a start, an event, a step or an end. Its bytes are empty if it is not sent. */
  message(item: LogItem, ref: ThreadRef): SseMessage | Promise<SseMessage>;
  /** Returns the message for a status that is not an end; null if none is sent. */
  status(state: ThreadStatus): Bytes | null;
  /** Tells whether the stream ends at a status that is not an end, with the message of {@link over}. */
  isOver?(state: ThreadStatus): boolean;
  /** Returns the last message if no end record is sent: the thread was removed, is corrupt, or had ended before. */
  over(
    state: ThreadStatus | "removed",
    ref: ThreadRef,
    cursor: string,
  ): Bytes | null | Promise<Bytes | null>;
}

export type LogItem = Exclude<Observed, { kind: "status" | "removed" }>;

const isLogItem = (item: Observed): item is LogItem =>
  item.kind !== "status" && item.kind !== "removed";

class ThreadFeed {
  readonly host: Host;
  readonly ref: ThreadRef;
  readonly serializer: Serializer;
  readonly ring: Ring;
  /** The thread's newest status; "removed" if its log is gone; null while unknown. */
  state: ThreadStatus | "removed" | null = null;
  over = false;
  /** The error that ended the observation. */
  failed: Error | null = null;
  listeners = 0;
  readonly #items: AsyncGenerator<Observed>;
  readonly #abort = new AbortController();
  #reading = false;
  #announced = false;
  #news = Promise.withResolvers<void>();

  constructor(host: Host, ref: ThreadRef, cursor: string | undefined, serializer: Serializer) {
    this.host = host;
    this.ref = ref;
    this.serializer = serializer;
    this.ring = new Ring(cursor ?? "", ringBytes);
    this.#items = host.observe(ref, cursor, { signal: this.#abort.signal });
  }

  /** Resolves with a new message or status, or at the end of the observation. */
  news(): Promise<void> {
    const { promise } = this.#news;
    if (!this.#reading && !this.over) void this.#read();
    return promise;
  }

  close(): void {
    this.over = true;
    this.#abort.abort();
    // Without this, an idle observation would stay suspended and keep its file watches.
    void this.#items.return(undefined);
    this.#announce();
  }

  async #read(): Promise<void> {
    this.#reading = true;
    try {
      for (let bytes = 0; bytes < batchBytes; ) {
        const { done, value } = await this.#items.next();
        if (done) this.over = true;
        if (done || this.over) break;
        bytes += await this.#take(value);
        this.#announce();
      }
    } catch (error) {
      this.failed = error instanceof Error ? error : new Error(String(error));
      this.over = true;
    }
    this.#reading = false;
    this.#announce();
  }

  async #take(item: Observed): Promise<number> {
    if (item.kind === "removed") this.state = "removed";
    else if (item.kind === "status") this.state = item.state;
    if (!isLogItem(item)) return 0;
    const message = await this.serializer.message(item, this.ref);
    this.ring.push(message);
    return sizeOf(message);
  }

  // Batches items: wakes the listeners once no more items are available.
  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    setImmediate(() => {
      this.#announced = false;
      const { resolve } = this.#news;
      this.#news = Promise.withResolvers();
      resolve();
    });
  }
}

/** The feeds of all threads with listeners, one per thread and serializer. */
export class ThreadFeeds {
  readonly #host: Host;
  readonly #feeds = new Map<string, ThreadFeed>();

  constructor(host: Host) {
    this.#host = host;
  }

  /**
   * Returns a source that begins after `cursor`, or else at the thread's start, without messages numbered up to
   * `after`.
   */
  listen(
    ref: ThreadRef,
    serializer: Serializer,
    { cursor, after = 0 }: { cursor?: string; after?: number },
  ): Source {
    const key = `${serializer.name} ${ref.threadId}`;
    const known = this.#feeds.get(key);
    // A finished feed can't be reused, because the thread may have been resumed or its log replaced.
    const isNew = !known || known.over;
    const feed = isNew ? new ThreadFeed(this.#host, ref, cursor, serializer) : known;
    this.#feeds.set(key, feed);
    feed.listeners += 1;
    return new Listener(feed, cursor ?? "", after, () => {
      feed.listeners -= 1;
      if (feed.listeners > 0) return;
      if (this.#feeds.get(key) === feed) this.#feeds.delete(key);
      feed.close();
    });
  }
}

/**
 * A listener that follows a thread at its own pace. Holds a cursor and at most one piece. Reads from the feed's
 * ring; while the ring does not hold the cursor, reads from its own observation.
 */
class Listener implements Source {
  readonly #feed: ThreadFeed;
  #after: number;
  readonly #onClose: () => void;
  #cursor: string;
  /** The number of the next message; null while the ring does not hold it. */
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
      const number = this.#next;
      const piece = number === null ? await this.#catchUp() : this.#fromRing(number);
      if (piece && this.#pass(piece)) return piece.bytes;
      // The own observation has reached the ring, so continue from the ring.
      if (number === null && this.#next !== null) continue;
      const isThrough = this.#cursor === before;
      const notice = isThrough && number !== null ? await this.#notice() : null;
      if (notice) return notice;
      if (isThrough && this.#feed.over) return await this.#last();
      // All messages so far are unsent, so continue to read, but let other listeners run first.
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

  /** Advances to a piece's cursor. Returns whether the piece has anything to send. */
  #pass({ bytes, cursor, last }: Piece): boolean {
    this.#cursor = cursor;
    this.#over = last;
    // After the first sent message, all later messages are sent.
    if (bytes.length > 0) this.#after = 0;
    return bytes.length > 0;
  }

  async #notice(): Promise<Bytes | null> {
    const { over, ref, state, serializer } = this.#feed;
    if (over || state === null || state === "removed") return null;
    const shown = state.status === "running" && state.pausing ? "pausing" : state.status;
    if (shown === this.#shown) return null;
    this.#shown = shown;
    if (serializer.isOver?.(state) !== true) return serializer.status(state);
    this.#over = true;
    return await serializer.over(state, ref, this.#cursor);
  }

  /** Returns the last message if the observation had no end record. */
  async #last(): Promise<Bytes | null> {
    const { failed, state, serializer, host, ref } = this.#feed;
    this.#over = true;
    if (failed) throw failed;
    // A thread that had ended before yields no items.
    return await serializer.over(state ?? (await host.read(ref)), ref, this.#cursor);
  }
}
