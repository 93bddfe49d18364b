import type { Source } from "./connections.ts";
import { type Bytes, Ring, type SseMessage } from "./sse.ts";

const ringBytes = 1024 * 1024;

/**
 * The changes of a subject for all listeners. Watches the subject once, and only while there are listeners. A listener
 * with a cursor that the feed no longer holds gets {@link reload} first.
 */
export abstract class Feed {
  #ring = new Ring("", ringBytes);
  #listeners = 0;
  #ready = Promise.withResolvers<void>();
  #news = Promise.withResolvers<void>();
  #abort = new AbortController();

  /**
   * Watches until the signal is aborted. Calls {@link begin}, then {@link push} for each change, and {@link ready} once
   * all later changes will be pushed.
   */
  protected abstract watch(signal: AbortSignal): Promise<void>;

  /** Returns the message that tells a listener to read everything. */
  protected abstract reload(cursor: string): Bytes;

  /** The cursor after all pushed messages. */
  protected abstract get cursor(): string;

  /** Begins to hold messages after a cursor. */
  protected begin(cursor: string): void {
    this.#ring = new Ring(cursor, ringBytes);
  }

  /** Reports that all later changes will be pushed. */
  protected ready(): void {
    this.#ready.resolve();
  }

  protected push(message: SseMessage): void {
    this.#ring.push(message);
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers();
    resolve();
  }

  /** Returns a source that begins after the message with the id `after`. */
  listen(after?: string): Source {
    this.#listeners += 1;
    if (this.#listeners === 1) void this.watch((this.#abort = new AbortController()).signal);
    let next: number | null | undefined;
    let closed = false;
    const take = (): Bytes | null => {
      // The held messages are known once the feed is ready.
      if (next === undefined) next = after === undefined ? null : this.#ring.after(after);
      if (next === null || !this.#ring.reaches(next)) {
        next = this.#ring.next;
        return this.reload(this.cursor);
      }
      const piece = this.#ring.piece(next);
      next = piece?.next ?? next;
      return piece?.bytes ?? null;
    };
    return {
      next: async () => {
        // A client that reads everything after `reload` must not miss a later change.
        await this.#ready.promise;
        for (;;) {
          const bytes = closed ? null : take();
          if (bytes || closed) return bytes;
          await this.#news.promise;
        }
      },
      close: () => {
        if (closed) return;
        closed = true;
        this.#listeners -= 1;
        if (this.#listeners > 0) return;
        this.#abort.abort();
        this.#ready = Promise.withResolvers();
      },
    };
  }
}
