import type { Context } from "hono";
import { type SSEMessage, streamSSE } from "hono/streaming";
import { tooManyStreams } from "./errors.ts";

/** A server-sent event. Its data is JSON. */
export type Message = SSEMessage & { data: string };

/** Messages for one client. They end when the signal of {@link Open} is aborted. */
export type Messages = AsyncGenerator<Message, void, undefined>;

/** Opens a stream before its response. Returns null for a stream that has nothing more to send. */
export type Open = (signal: AbortSignal) => Messages | null | Promise<Messages | null>;

/**
 * `most` is the maximum number of open streams. A stream without messages gets a comment after one to two heartbeats of
 * `heartbeatMs` milliseconds.
 */
export type StreamLimits = { most: number; heartbeatMs: number };

const ending = "the server ends its streams";
const retryMs = 2_000;

/** The open streams of a server. Fetches each message after the client has received the previous message. */
export class Streams {
  readonly #limits: StreamLimits;
  readonly #open = new Set<AbortController>();
  #isOver = false;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /**
   * Returns a response that streams messages. An error of `open` becomes the response; for null the response has status
   * 204. `greets` sends a greeting first.
   * @throws WorkflowError `TOO_MANY_STREAMS`, before it calls `open`.
   */
  async send(call: Context, open: Open, { greets = true } = {}): Promise<Response> {
    const { most, heartbeatMs } = this.#limits;
    if (this.#isOver || this.#open.size >= most) throw tooManyStreams(most);
    const abort = new AbortController();
    this.#open.add(abort);
    const messages = await this.#begin(abort, open);
    if (messages === null) return new Response(null, { status: 204 });
    // Disables buffering in proxies such as nginx.
    call.header("X-Accel-Buffering", "no");
    return streamSSE(call, async (stream) => {
      stream.onAbort(() => this.#end(abort));
      let isSilent = true;
      const beat = setInterval(() => {
        if (isSilent) void stream.write(": still here\n\n");
        isSilent = true;
      }, heartbeatMs);
      try {
        // Flushes the headers, and tells browsers to reconnect after a second.
        if (greets) await stream.write("retry: 1000\n\n");
        for await (const message of messages) {
          isSilent = false;
          await stream.writeSSE(message);
          if (abort.signal.aborted) break;
        }
        if (greets && abort.signal.reason === ending) await stream.write(`retry: ${retryMs}\n\n`);
      } catch {
        // A client that reconnects gets the error as the response.
      } finally {
        clearInterval(beat);
        this.#end(abort);
      }
    });
  }

  /** Ends all streams. Their clients reconnect after some seconds. */
  close(): void {
    for (const abort of this.#open) this.#end(abort, ending);
  }

  /** Like {@link close}, and refuses further streams. */
  end(): void {
    this.#isOver = true;
    this.close();
  }

  async #begin(abort: AbortController, open: Open): Promise<Messages | null> {
    let messages: Messages | null = null;
    try {
      messages = await open(abort.signal);
    } finally {
      if (messages === null) this.#end(abort);
    }
    return messages;
  }

  #end(abort: AbortController, reason?: string): void {
    this.#open.delete(abort);
    abort.abort(reason);
  }
}

/** Returns a message with a name and an optional id. */
export const messageOf = (event: string, data: unknown, id?: string | number): Message => ({
  event,
  data: JSON.stringify(data),
  ...(id !== undefined && { id: String(id) }),
});
