import { toErrorRecord } from "@uncaged/workflow/host";
import type { Source } from "./connections.ts";
import { type Bytes, sseBytes } from "./sse.ts";

type Part = { source: Source; head: Bytes; isAsked: boolean };

/**
 * Merges several sources, so that a client needs only one connection. An event `of` with the source's key precedes the
 * messages of that source. Holds at most one piece of each source. A source that fails ends with an event `refused`.
 */
export class Together implements Source {
  readonly #parts = new Set<Part>();
  readonly #pieces: Bytes[] = [];
  #news = Promise.withResolvers<void>();

  constructor(sources: Iterable<readonly [key: number | string, source: Source]>) {
    for (const [key, source] of sources) {
      this.#parts.add({ source, head: sseBytes("of", key), isAsked: false });
    }
  }

  async next(): Promise<Bytes | null> {
    for (;;) {
      for (const part of this.#parts) if (!part.isAsked) void this.#ask(part);
      const piece = this.#pieces.shift();
      if (piece || this.#parts.size === 0) return piece ?? null;
      await this.#news.promise;
    }
  }

  close(): void {
    for (const { source } of this.#parts) source.close();
    this.#parts.clear();
    this.#wake();
  }

  async #ask(part: Part): Promise<void> {
    part.isAsked = true;
    let isOver = false;
    const bytes = await part.source.next().catch((error: unknown) => {
      isOver = true;
      const { code, message } = toErrorRecord(error);
      return sseBytes("refused", { code, message });
    });
    if (bytes) this.#pieces.push(Buffer.concat([part.head, bytes]));
    if (!bytes || isOver) this.#parts.delete(part);
    part.isAsked = false;
    this.#wake();
  }

  #wake(): void {
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers();
    resolve();
  }
}

/** Returns a source that sends one message before another source's messages. */
export function preceded(bytes: Bytes, source: Source): Source {
  const first = once(bytes);
  return {
    next: async () => (await first.next()) ?? (await source.next()),
    close: () => source.close(),
  };
}

/** Returns a source of one message. */
export function once(bytes: Bytes): Source {
  let rest: Bytes | null = bytes;
  return {
    next: () => {
      const now = rest;
      rest = null;
      return Promise.resolve(now);
    },
    close: () => undefined,
  };
}
