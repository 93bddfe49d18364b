import type { Source } from "./connections.ts";
import { type Bytes, Ring, type SseMessage } from "./sse.ts";

const ringBytes = 1024 * 1024;

/**
 * What changes, for all that listen now: watched once, while somebody listens. A listener whose cursor is no longer held,
 * or that has none, is sent {@link reload} first.
 */
export abstract class Feed {
  #ring = new Ring("", ringBytes);
  #listeners = 0;
  #ready = Promise.withResolvers<void>();
  #news = Promise.withResolvers<void>();
  #abort = new AbortController();

  /** Watches until the signal is aborted: {@link begin}s, {@link push}es, and reports when it is {@link ready}. */
  protected abstract watch(signal: AbortSignal): Promise<void>;

  /** The message upon which a listener reads everything. */
  protected abstract reload(cursor: string): Bytes;

  /** The cursor behind all that was pushed. */
  protected abstract get cursor(): string;

  /** Holds nothing but what comes behind a cursor. */
  protected begin(cursor: string): void {
    this.#ring = new Ring(cursor, ringBytes);
  }

  /** From now on nothing is missed. */
  protected ready(): void {
    this.#ready.resolve();
  }

  protected push(message: SseMessage): void {
    this.#ring.push(message);
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers();
    resolve();
  }

  /** Begins behind the message with the id `after`. */
  listen(after?: string): Source {
    this.#listeners += 1;
    if (this.#listeners === 1) void this.watch((this.#abort = new AbortController()).signal);
    let next: number | null | undefined;
    let closed = false;
    const take = (): Bytes | null => {
      // What is held is known when it is ready.
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
        // A client that reads everything upon `reload` must miss nothing that comes after.
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
