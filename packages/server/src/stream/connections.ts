import { type Bytes, greeting, heartbeat, streamHeaders } from "./sse.ts";
import { tooManyStreams } from "./errors.ts";

/** A source of a stream. `next` resolves with the next bytes, or with null at the end. */
export type Source = { next(): Promise<Bytes | null>; close(): void };

export type StreamLimits = { most: number; patienceMs: number; heartbeatMs: number };

// In bytes. A connection keeps a buffer as large as its largest unsent piece, and most connections are idle.
const largestPiece = 1024;
const lookEveryMs = 5_000;

/**
 * The open streams. Requests each piece after the client has received the previous piece, so a slow client uses only
 * the system's buffer. Disconnects a client that stops reading.
 */
export class Connections {
  readonly #limits: StreamLimits;
  readonly #open = new Set<Connection>();
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
    const everyMs = Math.min(lookEveryMs, limits.patienceMs, limits.heartbeatMs);
    this.#timer = setInterval(() => this.#look(), everyMs).unref();
  }

  /** Returns a response that streams a source, unless too many streams are open. `greets` sends a greeting first. */
  send(open: () => Source, { greets = true }: { greets?: boolean } = {}): Response {
    const { most } = this.#limits;
    if (this.#open.size >= most) throw tooManyStreams(most);
    const connection = new Connection(open(), greets, (closed) => this.#open.delete(closed));
    this.#open.add(connection);
    return new Response(new ReadableStream(connection, { highWaterMark: 0 }), {
      headers: streamHeaders,
    });
  }

  close(): void {
    clearInterval(this.#timer);
    for (const connection of this.#open) connection.drop();
  }

  #look(): void {
    const { patienceMs, heartbeatMs } = this.#limits;
    const now = performance.now();
    for (const connection of this.#open) {
      const idleMs = now - connection.at;
      if (!connection.waits && idleMs > patienceMs) connection.drop();
      else if (connection.waits && idleMs >= heartbeatMs) connection.beat(now);
    }
  }
}

/** One open stream. */
class Connection {
  waits = false;
  at = performance.now();
  readonly #source: Source;
  readonly #onClose: (connection: Connection) => unknown;
  #controller: ReadableStreamDefaultController<Bytes> | null = null;
  #rest: Bytes | null;
  #closed = false;

  constructor(source: Source, greets: boolean, onClose: (connection: Connection) => unknown) {
    this.#source = source;
    this.#rest = greets ? greeting : null;
    this.#onClose = onClose;
  }

  start(controller: ReadableStreamDefaultController<Bytes>): void {
    this.#controller = controller;
  }

  pull(controller: ReadableStreamDefaultController<Bytes>): Promise<void> | undefined {
    if (this.#rest === null) return this.#read(controller);
    this.#send(controller, this.#rest);
    return undefined;
  }

  cancel(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#source.close();
    this.#onClose(this);
  }

  beat(now: number): void {
    this.at = now;
    this.#controller?.enqueue(heartbeat);
  }

  drop(): void {
    this.cancel();
    this.#controller?.error(new Error("the client has stopped reading"));
  }

  async #read(controller: ReadableStreamDefaultController<Bytes>): Promise<void> {
    this.waits = true;
    // A read error ends the stream. A client that reconnects gets the error as the response.
    const bytes = await this.#source.next().catch(() => null);
    this.waits = false;
    if (this.#closed) return;
    if (bytes) return this.#send(controller, bytes);
    this.cancel();
    controller.close();
  }

  #send(controller: ReadableStreamDefaultController<Bytes>, bytes: Bytes): void {
    this.at = performance.now();
    this.#rest = bytes.length > largestPiece ? bytes.subarray(largestPiece) : null;
    controller.enqueue(bytes.subarray(0, largestPiece));
  }
}
