import { readEvent } from "@uncaged/workflow/records";
import type { InfoRecord, Observed } from "@uncaged/workflow/host";
import type { Mirror } from "../mirror/mirror.ts";
import type { LiveAddress } from "../thread/thread.ts";
import type { Place } from "./place.ts";

/** Longest wait for a worker's response, and pause before the next try, in milliseconds. */
const answersMs = 2_000;
const retryMs = 2_000;
/** Buffer of a stream, in bytes. A slow observer reads the rest from the cluster. */
const mostHeld = 1024 * 1024;
const syncEveryMs = 100;

/** A line of a debug log with its byte range. `isWhole`: the line does not refer to the file of values. */
type LiveLine = { start: number; end: number; record: InfoRecord; isWhole: boolean };

/**
 * Streams debug log lines from the worker that drives a thread, before the cluster has them. Follows the holder of the
 * claim. No line is lost when the worker is unreachable: the cluster has each line a second later.
 */
export class LiveTail {
  readonly #threadId: string;
  readonly #mirror: Mirror;
  readonly #place: Place;
  #followed: { claim: number; stop: AbortController } | null = null;
  #failed = { claim: 0, until: 0 };
  #lines: LiveLine[] = [];
  #held = 0;
  #news = Promise.withResolvers<void>();
  #syncing: "no" | "now" | "again" = "no";

  constructor(threadId: string, mirror: Mirror, place: Place) {
    this.#threadId = threadId;
    this.#mirror = mirror;
    this.#place = place;
  }

  /** Connects to the holder of the claim that the mirror knows. */
  look(): void {
    const { meta } = this.#mirror.shown(this.#threadId) ?? {};
    const claim = meta?.claim ?? 0;
    const address = meta?.drive?.live;
    const followed = this.#followed;
    if (followed && (!address || followed.claim !== claim)) this.#drop();
    else if (followed) return;
    if (this.#failed.claim === claim && Date.now() < this.#failed.until) return;
    if (!address) return;
    const stop = new AbortController();
    this.#followed = { claim, stop };
    void this.#follow(address, claim, stop);
  }

  /** Resolves when {@link next} may return a new event. */
  changed(): Promise<void> {
    return this.#news.promise;
  }

  /** Returns the next event and advances the position; null while the cluster lacks a step before the event. */
  next(): Observed | null {
    const claim = this.#followed?.claim ?? 0;
    for (;;) {
      const [line] = this.#lines;
      const at = this.#place.inCopyOf(claim);
      if (!line || line.start > at) return null;
      if (line.start < at) {
        this.#shift();
        continue;
      }
      const event = readEvent(line.record);
      if (event && !this.#isDue(line, event.step)) return null;
      this.#shift();
      const cursor = this.#place.reach({ info: line.end, claim });
      if (event) return { kind: "event", event: { ...line.record, ...event }, cursor };
    }
  }

  // Observers get an event after the steps before it, and can read the values that it references.
  #isDue({ isWhole }: LiveLine, step = 0): boolean {
    const { steps } = this.#place;
    return isWhole && steps !== null && step <= steps + 1;
  }

  close(): void {
    this.#drop();
    this.#syncing = "no";
  }

  async #follow({ url, key }: LiveAddress, claim: number, stop: AbortController): Promise<void> {
    let start = this.#place.inCopyOf(claim);
    try {
      const late = setTimeout(() => stop.abort(), answersMs);
      const response = await fetch(`${url}?from=${start}`, {
        headers: { authorization: `Bearer ${key}` },
        redirect: "error",
        signal: stop.signal,
      }).finally(() => clearTimeout(late));
      if (!response.ok || !response.body) throw new Error(`the worker answers ${response.status}`);
      for await (const { name, data, id } of messagesIn(response.body)) {
        if (stop.signal.aborted) return;
        if (name === "append") void this.#sync();
        // Another writer has added lines before the worker's own; the mirror does not know their position yet.
        if (name === "claim" && Number(data) !== this.#begins(claim)) break;
        if (name !== "line") continue;
        const record = JSON.parse(data) as InfoRecord;
        this.#push({ start, end: id, record, isWhole: !data.includes('"_truncated":true') });
        start = id;
        if (this.#held > mostHeld) break;
      }
    } catch {
      // The worker is unreachable or lost: observers read from the cluster.
    }
    if (this.#followed?.stop !== stop) return;
    this.#drop();
    this.#failed = { claim, until: Date.now() + retryMs };
    void this.#sync();
  }

  /** Returns the offset of the worker's first own line in the copy; null when the mirror does not know it. */
  #begins(claim: number): number | null {
    const span = this.#mirror.shown(this.#threadId)?.spans.find((one) => one.claim === claim);
    return span ? span.from - span.before : null;
  }

  #drop(): void {
    this.#followed?.stop.abort();
    this.#followed = null;
    this.#lines = [];
    this.#held = 0;
  }

  #push(line: LiveLine): void {
    this.#lines.push(line);
    this.#held += line.end - line.start;
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers();
    resolve();
  }

  #shift(): void {
    const line = this.#lines.shift();
    if (line) this.#held -= line.end - line.start;
  }

  /** Reads new records at most once per `syncEveryMs`, and once more for calls in between. */
  async #sync(): Promise<void> {
    if (this.#syncing !== "no") {
      this.#syncing = "again";
      return;
    }
    do {
      this.#syncing = "now";
      await this.#mirror.sync(this.#threadId).catch(() => undefined);
      await Bun.sleep(syncEveryMs);
    } while ((this.#syncing as string) === "again");
    this.#syncing = "no";
  }
}

type Message = { name: string; data: string; id: number };

const pattern = /^event: (\w+)\ndata: ?(.*)(?:\nid: (\d+))?$/;

/** Parses the server-sent events of a stream. */
async function* messagesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    const messages = text.split("\n\n");
    text = messages.pop() ?? "";
    for (const message of messages) {
      const [, name = "", data = "", id] = pattern.exec(message) ?? [];
      yield { name, data, id: Number(id) };
    }
  }
}
