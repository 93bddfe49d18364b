import type { Message, Messages } from "./streams.ts";

const mostHeld = 1024 * 1024;

/**
 * The changes of a subject for all listeners. Watches the subject once, and only while there are listeners. Keeps the
 * newest messages. A listener with an older cursor gets {@link reload} first.
 */
export abstract class Feed {
  /** The newest messages, each with its cursor as the id. `#first` is the number of the first of these messages. */
  #held: Message[] = [];
  #first = 0;
  /** The cursor before the first kept message. */
  #from = "";
  #chars = 0;
  #listeners = 0;
  #isReady = false;
  #news = Promise.withResolvers<void>();
  #abort = new AbortController();

  /**
   * Watches until the signal is aborted. Calls {@link begin}, then {@link push} for each change, and {@link ready} once
   * all later changes will be pushed.
   */
  protected abstract watch(signal: AbortSignal): Promise<void>;

  /** Returns the message that tells a listener to read everything. */
  protected abstract reload(cursor: string): Message;

  /** The cursor after all pushed messages. */
  protected abstract get cursor(): string;

  /** Drops all messages, and keeps the messages after a cursor from now on. */
  protected begin(cursor: string): void {
    this.#first = this.#next;
    this.#held = [];
    this.#chars = 0;
    this.#from = cursor;
  }

  /** Reports that all later changes will be pushed. */
  protected ready(): void {
    this.#isReady = true;
    this.#wake();
  }

  /** Sends a message, whose id is the new cursor, to the listeners. */
  protected push(message: Message): void {
    this.#held.push(message);
    this.#chars += message.data.length;
    while (this.#chars > mostHeld && this.#held.length > 1) {
      const { data, id = "" } = this.#held.shift() as Message;
      this.#chars -= data.length;
      this.#from = id;
      this.#first += 1;
    }
    this.#wake();
  }

  /** Yields the messages after the message with the id `after`, or after `reload`, until the signal is aborted. */
  async *listen(after: string | undefined, signal: AbortSignal): Messages {
    const wake = (): void => this.#wake();
    signal.addEventListener("abort", wake);
    this.#listeners += 1;
    if (this.#listeners === 1) void this.watch((this.#abort = new AbortController()).signal);
    let next: number | null = null;
    try {
      while (!signal.aborted) {
        // A client that reads everything after `reload` must not miss a later change.
        if (this.#isReady) next ??= this.#numberAfter(after);
        if (next === null || next === this.#next) {
          await this.#news.promise;
          continue;
        }
        const held = this.#held[next - this.#first];
        next = held ? next + 1 : this.#next;
        yield held ?? this.reload(this.cursor);
      }
    } finally {
      signal.removeEventListener("abort", wake);
      this.#listeners -= 1;
      if (this.#listeners === 0) {
        this.#abort.abort();
        this.#isReady = false;
      }
    }
  }

  get #next(): number {
    return this.#first + this.#held.length;
  }

  /** Returns the number of the message after a cursor; -1 if the feed has no such cursor. */
  #numberAfter(cursor: string | undefined): number {
    const at = this.#held.findLastIndex(({ id }) => id === cursor);
    if (at >= 0) return this.#first + at + 1;
    return cursor === this.#from ? this.#first : -1;
  }

  #wake(): void {
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers();
    resolve();
  }
}
