import {
  beginning,
  LogReader,
  type Position,
  type Root,
  type Status,
  type ThreadRef,
} from "@uncaged/workflow/host";
import {
  greeting,
  heartbeat,
  heartbeatEveryMs,
  type MakeSerializer,
  type SseMessage,
  threadSerializer,
} from "./sse.ts";
import { type LiveThreads, sizeOf, ThreadFeed } from "./thread-feed.ts";

/** How much is sent at once, when there is more. */
const pieceBytes = 64 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * One who follows a thread, at its own pace. It holds a position and, at most, a piece of what it reads
 * again: from the feed's messages while they are there, else from the files, up to the feed's head.
 */
export class Listener {
  readonly #feed: ThreadFeed;
  readonly #onClose: () => void;
  #position: Position;
  /** The number of the next message, or null while the files are read again. */
  #next: number | null;
  #replay: LogReader | null = null;
  #first: Bytes | null = greeting;
  #shown: Status | null = null;
  #sentAt = performance.now();
  #over = false;
  #closed = false;
  #waits = false;
  readonly #after: number;

  /**
   * @param after Leaves out the messages up to this `seq`.
   * @throws WorkflowError `BAD_POSITION` (usage).
   */
  constructor(feed: ThreadFeed, from: Position, onClose: () => void, after = 0) {
    this.#after = after;
    this.#feed = feed;
    this.#onClose = onClose;
    this.#position = from;
    this.#next = feed.ring.behind(from);
    if (this.#next === null) this.#replay = new LogReader(feed.root, feed.ref, from);
  }

  /** Since when its reader has not taken what it was given, in milliseconds; 0 when it has. */
  get stalledMs(): number {
    return this.#waits ? 0 : performance.now() - this.#sentAt;
  }

  /** What is to be sent next, or null when the stream is over. */
  async next(): Promise<Bytes | null> {
    this.#waits = true;
    for (;;) {
      if (this.#closed) return null;
      const before = this.#position;
      const bytes = this.#take();
      if (bytes) {
        this.#waits = false;
        this.#sentAt = performance.now();
        return bytes;
      }
      if (this.#over) {
        this.close();
        return null;
      }
      // What was passed over tells nothing here, and there may be more: others get their turn.
      if (this.#position === before) await this.#feed.woken();
      else await new Promise(setImmediate);
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
  }

  #take(): Bytes | null {
    const first = this.#first;
    this.#first = null;
    if (first || this.#over) return first;
    if (this.#next !== null && !this.#feed.ring.reaches(this.#next)) this.#next = null;
    const before = this.#position;
    const pieces = this.#next === null ? this.#fromFiles() : this.#fromRing(this.#next);
    if (pieces.length > 0) return joined(pieces);
    if (this.#position !== before) return null;
    return this.#next === null ? this.#beat() : this.#takeNotice();
  }

  #fromRing(number: number): Bytes[] {
    const pieces: Bytes[] = [];
    this.#next = number;
    for (let bytes = 0; bytes < pieceBytes && !this.#over; ) {
      const message = this.#feed.ring.at(this.#next);
      if (!message) break;
      this.#next += 1;
      bytes += this.#pass(message, pieces);
    }
    return pieces;
  }

  #fromFiles(): Bytes[] {
    const { ring, root, ref, serializer } = this.#feed;
    const pieces: Bytes[] = [];
    this.#replay ??= new LogReader(root, ref, this.#position);
    let bytes = 0;
    for (const item of this.#replay.read(ring.head)) {
      bytes += this.#pass(serializer.message(item), pieces);
      if (bytes >= pieceBytes) break;
    }
    this.#next = ring.behind(this.#position);
    if (this.#next !== null) this.#replay = null;
    return pieces;
  }

  #pass(message: SseMessage, pieces: Bytes[]): number {
    const { position, bytes, last, seq } = message;
    const isNew = seq === undefined || seq > this.#after;
    if (bytes.length > 0 && isNew) pieces.push(bytes);
    this.#position = position;
    this.#over = last;
    return sizeOf(message);
  }

  /** What stands in no file: that it is gone, how the thread stands, that the server is still here. */
  #takeNotice(): Bytes | null {
    const { failed, removed, status, steps, serializer, facts } = this.#feed;
    this.#over = failed || removed || facts.broken !== null || facts.end !== null;
    if (failed) return null;
    if (removed) return serializer.removed();
    if (facts.broken) return serializer.corrupt();
    if (facts.end) return serializer.ended(facts.end, this.#position);
    if (status === null || status === this.#shown) return this.#beat();
    this.#shown = status;
    return serializer.status(status, steps) ?? this.#beat();
  }

  #beat(): Bytes | null {
    return performance.now() - this.#sentAt >= heartbeatEveryMs ? heartbeat : null;
  }
}

const joined = (pieces: Bytes[]): Bytes =>
  pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);

/** How one listens: in whose serializer, and behind which `seq` where that serializer numbers what it tells. */
type Listening = { make?: MakeSerializer; after?: number };

/** The threadFeeds of the threads that somebody listens to now: one each, for each serializer. */
export class ThreadFeeds {
  readonly #root: Root;
  readonly #live: LiveThreads;
  readonly #threadFeeds = new Map<string, { feed: ThreadFeed; listeners: number }>();

  constructor(root: Root, live: LiveThreads) {
    this.#root = root;
    this.#live = live;
  }

  /** How many threads are read now. */
  get size(): number {
    return this.#threadFeeds.size;
  }

  /**
   * Begins to listen to a thread, behind a position.
   *
   * @throws WorkflowError `BAD_POSITION` (usage).
   */
  listen(
    ref: ThreadRef,
    from: Position = beginning,
    { make = threadSerializer, after }: Listening = {},
  ): Listener {
    const serializer = make(this.#root, ref);
    const key = `${serializer.name} ${ref.threadId}`;
    const known = this.#threadFeeds.get(key);
    const made = () => new ThreadFeed(this.#root, ref, from, this.#live, serializer);
    const entry = known ?? { feed: made(), listeners: 0 };
    const close = () => {
      entry.listeners -= 1;
      if (entry.listeners > 0) return;
      this.#threadFeeds.delete(key);
      entry.feed.close();
    };
    const listener = new Listener(entry.feed, from, close, after);
    this.#threadFeeds.set(key, entry);
    entry.listeners += 1;
    return listener;
  }
}
