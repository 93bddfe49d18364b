import type { Host, HostChange } from "@uncaged/workflow/host";
import type { HostEvents } from "../schema/thread.ts";
import type { Source } from "./connections.ts";
import { type Bytes, Ring, sseBytes } from "./sse.ts";

const ringBytes = 1024 * 1024;
const retryMs = 1_000;

/**
 * The changes of a host for all that listen now: watched once, while somebody listens. A listener that is
 * too slow for the messages that are held is sent `reload`.
 */
export class ChangeFeed {
  readonly #host: Host;
  readonly #ring = new Ring("", ringBytes);
  #listeners = 0;
  #ready = Promise.withResolvers<void>();
  #news = Promise.withResolvers<void>();
  #abort = new AbortController();

  constructor(host: Host) {
    this.#host = host;
  }

  listen(): Source {
    this.#listeners += 1;
    if (this.#listeners === 1) void this.#watch((this.#abort = new AbortController()).signal);
    let next: number | null = null;
    let closed = false;
    const take = (): Bytes | null => {
      if (next === null || !this.#ring.reaches(next)) {
        next = this.#ring.next;
        return message("reload", {});
      }
      const piece = this.#ring.piece(next);
      next = piece?.next ?? next;
      return piece?.bytes ?? null;
    };
    return {
      next: async () => {
        // A client that reads its lists upon `reload` must miss nothing that comes after.
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
        if (this.#listeners === 0) this.#stop();
      },
    };
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const change of this.#host.changes(signal)) {
          if (signal.aborted) return;
          this.#push(change);
          this.#ready.resolve();
        }
      } catch {
        // What can't be watched now may be the next time, which begins with `ready`.
        await Bun.sleep(retryMs);
      }
    }
  }

  #stop(): void {
    this.#abort.abort();
    this.#ring.clear();
    this.#ready = Promise.withResolvers();
  }

  #push(change: HostChange): void {
    this.#ring.push({ cursor: "", bytes: bytesOf(change) });
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers();
    resolve();
  }
}

function bytesOf(change: HostChange): Bytes {
  switch (change.kind) {
    case "ready":
      return message("reload", {});
    case "thread":
      return message("thread", change.row);
    case "removed":
      return message("removed", { threadId: change.threadId });
    case "workflows":
      return message("workflows", {});
  }
}

const message = <Name extends keyof HostEvents>(name: Name, data: HostEvents[Name]): Bytes =>
  sseBytes(name, data);
