import type { Host, HostChange } from "@uncaged/workflow/host";
import type { HostEvents } from "../schema/thread.ts";
import type { Source } from "./connections.ts";
import { type Bytes, Ring, sseBytes } from "./sse.ts";

const ringBytes = 1024 * 1024;
const retryMs = 1_000;

/**
 * The changes of a host for all that listen now: watched once, while somebody listens. A listener whose
 * cursor is no longer held, or that has none, is sent `reload`.
 */
export class ChangeFeed {
  readonly #host: Host;
  #ring = new Ring("", ringBytes);
  #epoch = "";
  #sent = 0;
  #listeners = 0;
  #ready = Promise.withResolvers<void>();
  #news = Promise.withResolvers<void>();
  #abort = new AbortController();

  constructor(host: Host) {
    this.#host = host;
  }

  /** Begins behind the message with the id `after`. */
  listen(after?: string): Source {
    this.#listeners += 1;
    if (this.#listeners === 1) this.#start();
    let next = after === undefined ? null : this.#ring.after(after);
    let closed = false;
    const take = (): Bytes | null => {
      if (next === null || !this.#ring.reaches(next)) {
        next = this.#ring.next;
        return message("reload", {}, this.#cursor);
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

  get #cursor(): string {
    return `${this.#epoch}.${this.#sent}`;
  }

  #start(): void {
    // What changed while nobody listened is in no ring: an earlier id means nothing in this one.
    this.#epoch = crypto.randomUUID().slice(0, 8);
    this.#sent = 0;
    this.#ring = new Ring(this.#cursor, ringBytes);
    void this.#watch((this.#abort = new AbortController()).signal);
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
    this.#ready = Promise.withResolvers();
  }

  #push(change: HostChange): void {
    this.#sent += 1;
    this.#ring.push({ cursor: this.#cursor, bytes: bytesOf(change, this.#cursor) });
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers();
    resolve();
  }
}

function bytesOf(change: HostChange, id: string): Bytes {
  switch (change.kind) {
    case "ready":
      return message("reload", {}, id);
    case "thread":
      return message("thread", change.row, id);
    case "removed":
      return message("removed", { threadId: change.threadId }, id);
    case "workflows":
      return message("workflows", {}, id);
  }
}

const message = <Name extends keyof HostEvents>(
  name: Name,
  data: HostEvents[Name],
  id: string,
): Bytes => sseBytes(name, data, id);
