import type { Host, Observed, ThreadRef, ThreadStatus } from "@uncaged/workflow/host";
import { type Bytes, Ring, sizeOf, type SseMessage } from "./sse.ts";

/*
 * Owns: the one observation of a thread for all that listen to it with one serializer, its newest
 * messages, and its newest status. Does not own: the listeners' cursors and what they were sent.
 *
 * F1 It observes on only when a listener has taken all that there is: nobody listens, nothing is read.
 * F2 The ring has each item of the observation once, in order, so that a listener that has a message's
 *    cursor may go on from the ring or from an observation of its own, which are the same.
 */

const batchBytes = 256 * 1024;
const ringBytes = 512 * 1024;

/** From what is observed of a thread to what a stream sends. Streams of one `name` share a feed. */
export interface Serializer {
  readonly name: string;
  /** Of a start, an event, a step or an end; with empty bytes where nothing is sent. */
  message(item: LogItem, ref: ThreadRef): SseMessage | Promise<SseMessage>;
  /** Of a status that is not an end; null where nothing is sent. */
  status(state: ThreadStatus): Bytes | null;
  /** The last message where no end record is sent: the thread is removed, corrupt, or had ended before. */
  over(
    state: ThreadStatus | "removed",
    ref: ThreadRef,
    cursor: string,
  ): Bytes | null | Promise<Bytes | null>;
}

export type LogItem = Exclude<Observed, { kind: "status" | "removed" }>;

export const isLogItem = (item: Observed): item is LogItem =>
  item.kind !== "status" && item.kind !== "removed";

export class ThreadFeed {
  readonly host: Host;
  readonly ref: ThreadRef;
  readonly serializer: Serializer;
  readonly ring: Ring;
  /** The thread's newest status; "removed" without its log, null until known. */
  state: ThreadStatus | "removed" | null = null;
  /** Whether the observation has ended; `failed` when it could not be continued. */
  over = false;
  failed = false;
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

  /** Resolves when there is something new: messages, a status, or the end of the observation. */
  news(): Promise<void> {
    const { promise } = this.#news;
    if (!this.#reading && !this.over) void this.#read();
    return promise;
  }

  close(): void {
    this.over = true;
    this.#abort.abort();
    // Where nothing is read now it would stay suspended, with the files that it watches.
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
    } catch {
      this.failed = true;
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

  // What is there already is taken together: listeners are woken when nothing more comes at once.
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
