import { WorkflowError } from "@uncaged/workflow/host";
import { type Bytes, greeting, heartbeat } from "./sse.ts";

/** What a stream sends: `next` resolves with the next bytes, and with null at the end. */
export type Source = { next(): Promise<Bytes | null>; close(): void };

type Controller = ReadableStreamDefaultController<Bytes>;

type Connection = {
  source: Source;
  controller: Controller | null;
  /** Whether its client has taken all that there was. */
  waits: boolean;
  /** When something was sent or taken last. */
  at: number;
};

// As long as a connection is open its buffer stays as large as the largest piece that could not go out
// at once, and most listeners are idle.
const largestPiece = 1024;
const heartbeatEveryMs = 15_000;
const lookEveryMs = 5_000;

/**
 * The streams that are open. Each piece is requested when the one before it was taken: a slow client
 * costs what the system buffers for the connection, and one that takes nothing any more is dropped.
 */
export class Connections {
  readonly #limit: number;
  readonly #patienceMs: number;
  readonly #open = new Set<Connection>();
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor({ most, patienceMs }: { most: number; patienceMs: number }) {
    this.#limit = most;
    this.#patienceMs = patienceMs;
  }

  /** @throws WorkflowError `TOO_MANY_STREAMS` when no more may be open. */
  checkLimit(): void {
    if (this.#open.size < this.#limit) return;
    throw new WorkflowError({
      code: "TOO_MANY_STREAMS",
      kind: "failed",
      message: `${this.#limit} streams are open, which is the limit`,
      hint: "close some",
    });
  }

  /** The response that sends what a source has. */
  send(source: Source): Response {
    const connection: Connection = {
      ...{ source, controller: null, waits: false, at: performance.now() },
    };
    let rest: Bytes | null = greeting;
    const send = (controller: Controller, bytes: Bytes) => {
      rest = bytes.length > largestPiece ? bytes.subarray(largestPiece) : null;
      controller.enqueue(bytes.subarray(0, largestPiece));
    };
    const read = async (controller: Controller) => {
      connection.waits = true;
      // What can't be read ends the stream: a client that reconnects is answered with the error.
      const bytes = await source.next().catch(() => null);
      connection.waits = false;
      connection.at = performance.now();
      if (!this.#open.has(connection)) return;
      if (bytes) return send(controller, bytes);
      this.#forget(connection);
      controller.close();
    };
    const body = new ReadableStream<Bytes>(
      {
        start: (controller) => {
          connection.controller = controller;
        },
        pull: (controller) => {
          if (rest === null) return read(controller);
          connection.at = performance.now();
          send(controller, rest);
        },
        cancel: () => this.#forget(connection),
      },
      { highWaterMark: 0 },
    );
    this.#open.add(connection);
    this.#timer ??= setInterval(() => this.#look(), Math.min(lookEveryMs, this.#patienceMs));
    return new Response(body, {
      headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" },
    });
  }

  /** Ends all of them. */
  close(): void {
    for (const connection of this.#open) this.#drop(connection);
  }

  #drop(connection: Connection): void {
    this.#forget(connection);
    connection.controller?.error(new Error("the client has stopped reading"));
  }

  #forget(connection: Connection): void {
    if (!this.#open.delete(connection)) return;
    connection.source.close();
    if (this.#open.size > 0 || !this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    const now = performance.now();
    for (const connection of this.#open) {
      const idleMs = now - connection.at;
      if (!connection.waits && idleMs > this.#patienceMs) this.#drop(connection);
      if (!connection.waits || idleMs < heartbeatEveryMs) continue;
      connection.at = now;
      connection.controller?.enqueue(heartbeat);
    }
  }
}
