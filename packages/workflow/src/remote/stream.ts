import { createParser, type EventSourceMessage } from "eventsource-parser";
import { type ErrorRecord, WorkflowError } from "../contract/error.ts";
import { noServer } from "./errors.ts";
import { type Link, Lost, lostBy, Retries } from "./link.ts";

/** An item of a stream. */
export type StreamItem = { data: unknown; cursor: string | undefined };

export type StreamOptions = {
  /** Returns the arguments of a request that continues after a cursor. */
  args: (cursor: string | undefined) => object;
  /** Maximum time between two heartbeats, in milliseconds. */
  heartbeatMs: number;
  signal?: AbortSignal | undefined;
  /** Called before each request that repeats the stream. */
  onRepeat?: () => void;
};

/** Duration of each response in milliseconds, when a proxy holds responses back until their end. */
const heldMs = 1_000;

/**
 * Yields the items of a stream and returns its result. Reconnects after the last cursor when the connection is cut, or
 * silent for three heartbeats. After a silence it requests short responses, because a proxy may hold back a response
 * until its end.
 *
 * @throws WorkflowError the error of the server; `NO_SERVER` when the server does not respond for too long.
 */
export async function* streamOf(
  link: Link,
  method: string,
  { args, heartbeatMs, signal, onRepeat }: StreamOptions,
): AsyncGenerator<StreamItem, unknown, undefined> {
  const retries = new Retries(link.patienceMs, signal);
  let cursor: string | undefined;
  let forMs: number | undefined;
  while (!signal?.aborted) {
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    signal?.addEventListener("abort", stop);
    const silence = new Silence(3 * heartbeatMs + (forMs ?? 0), stop);
    let lost = new Lost("the stream was cut off");
    try {
      const opening = link.open(method, args(cursor), { signal: abort.signal, forMs });
      const body = await silence.limit(opening);
      for await (const { event, data, id } of messagesIn(body, silence)) {
        if (event === "done") return JSON.parse(data);
        if (event === "failed") throw new WorkflowError(JSON.parse(data) as ErrorRecord);
        if (event !== "item") continue;
        cursor = id ?? cursor;
        retries.reset();
        yield { data: JSON.parse(data), cursor: id };
      }
    } catch (error) {
      if (signal?.aborted) return undefined;
      const cause = silence.isOver ? new Lost("the stream was silent") : lostBy(error);
      if (!(cause instanceof Lost)) throw cause;
      lost = cause;
    } finally {
      signal?.removeEventListener("abort", stop);
      abort.abort();
    }
    // An open connection shows that the server runs, even without data.
    if (silence.hasEnded) retries.extend();
    if (silence.isOver) forMs = heldMs;
    if (!(await retries.next(lost.afterMs))) {
      throw lost.refusal ?? noServer(link.url, lost.message);
    }
    onRepeat?.();
  }
  return undefined;
}

/** Limits the time of each read of a stream. The time between two reads belongs to the reader. */
class Silence {
  readonly #ms: number;
  readonly #stop: () => void;
  /** Whether the limit was exceeded. */
  isOver = false;
  /** Whether anything was received. */
  hasEnded = false;

  constructor(ms: number, stop: () => void) {
    this.#ms = ms;
    this.#stop = stop;
  }

  async limit<T>(reading: Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      this.isOver = true;
      this.#stop();
    }, this.#ms);
    try {
      const read = await reading;
      this.hasEnded = true;
      return read;
    } finally {
      clearTimeout(timer);
    }
  }
}

async function* messagesIn(
  body: ReadableStream<Uint8Array>,
  silence: Silence,
): AsyncGenerator<EventSourceMessage> {
  const messages: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => messages.push(message) });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await silence.limit(reader.read());
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* messages.splice(0);
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
