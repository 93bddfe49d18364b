export type Bytes = Uint8Array<ArrayBuffer>;

/** The headers of a stream. They disable buffering in proxies such as nginx. */
export const streamHeaders = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  "X-Accel-Buffering": "no",
};

/** One server-sent event, serialized once for any number of listeners. */
export type SseMessage = {
  /** The cursor that continues after this message. */
  cursor: string;
  /** Empty for a message that is not sent. */
  bytes: Bytes;
  last?: boolean;
  /** The number of the message for clients, if it differs from the cursor. */
  seq?: number;
};

const encoder = new TextEncoder();

/** A comment sent after a long silence. */
export const heartbeat = encoder.encode(": still here\n\n");

/** The first bytes of a stream, which flush the headers. They tell a browser to reconnect after a second. */
export const greeting = encoder.encode("retry: 1000\n\n");

/** Returns the bytes of a message: its name, its data as JSON on one line, and its id if given. */
export function sseBytes(name: string, data: unknown, id?: string | number): Bytes {
  // The name may come from a bundle. A line break in it could forge other messages.
  const event = name.replace(/[\r\n]+/g, " ");
  return encoder.encode(`event: ${event}\n${dataLines(data, id)}`);
}

/** Returns the bytes of a message without a name. */
export const unnamedBytes = (data: unknown, id?: string): Bytes =>
  encoder.encode(dataLines(data, id));

function dataLines(data: unknown, id?: string | number): string {
  const end = id === undefined ? "" : `id: ${id}\n`;
  return `data: ${JSON.stringify(data)}\n${end}\n`;
}

const pieceBytes = 64 * 1024;
const leastBytes = 64;

/** Returns the size of a message in the ring, even for a message that is not sent. */
export const sizeOf = ({ bytes }: SseMessage): number => Math.max(bytes.length, leastBytes);

/** Messages sent together: their bytes, and the cursor that continues after them. */
export type Piece = { bytes: Bytes; cursor: string; last: boolean };

/** Joins messages up to the size of a piece. Omits messages with numbers up to `after`. */
export class PieceBuilder {
  readonly #after: number;
  readonly #parts: Bytes[] = [];
  #bytes = 0;
  #newest: SseMessage | null = null;

  constructor(after: number) {
    this.#after = after;
  }

  get isFull(): boolean {
    return this.#bytes >= pieceBytes || this.#newest?.last === true;
  }

  add(message: SseMessage): void {
    const { bytes, seq } = message;
    if (bytes.length > 0 && (seq === undefined || seq > this.#after)) this.#parts.push(bytes);
    this.#bytes += sizeOf(message);
    this.#newest = message;
  }

  get piece(): Piece | null {
    if (this.#newest === null) return null;
    const { cursor, last = false } = this.#newest;
    const [first] = this.#parts;
    // All listeners share the bytes of a single message.
    const bytes = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts);
    return { bytes, cursor, last };
  }
}

/** The newest messages of a feed for all of its listeners, numbered from 0. */
export class Ring {
  readonly #limit: number;
  #from: string;
  #messages: SseMessage[] = [];
  #bytes = 0;
  #first = 0;

  /** @param limit In bytes. The ring drops the oldest messages when it holds twice as many bytes. */
  constructor(from: string, limit: number) {
    this.#from = from;
    this.#limit = limit;
  }

  get next(): number {
    return this.#first + this.#messages.length;
  }

  push(message: SseMessage): void {
    this.#messages.push(message);
    this.#bytes += sizeOf(message);
    if (this.#bytes > this.#limit * 2) this.#drop();
  }

  /** Returns the number of the message after a cursor; null if the ring does not hold the cursor. */
  after(cursor: string): number | null {
    const at = this.#messages.findLastIndex((message) => message.cursor === cursor);
    if (at >= 0) return this.#first + at + 1;
    return cursor === this.#from ? this.#first : null;
  }

  /** Tells whether the message with this number is held or will still arrive. */
  reaches(number: number): boolean {
    return number >= this.#first;
  }

  /** Returns the piece that begins at a number, and the number after it; null if there is no message yet. */
  piece(number: number, after = 0): (Piece & { next: number }) | null {
    const builder = new PieceBuilder(after);
    let next = number;
    for (; !builder.isFull && next < this.next; next += 1) {
      builder.add(this.#messages[next - this.#first] as SseMessage);
    }
    const built = builder.piece;
    return built && { ...built, next };
  }

  #drop(): void {
    let dropped = 0;
    while (this.#bytes > this.#limit && dropped < this.#messages.length - 1) {
      const oldest = this.#messages[dropped] as SseMessage;
      this.#bytes -= sizeOf(oldest);
      this.#from = oldest.cursor;
      dropped += 1;
    }
    this.#messages = this.#messages.slice(dropped);
    this.#first += dropped;
  }
}
