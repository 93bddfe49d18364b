import { WorkflowError } from "@uncaged/workflow/host";

/** What a stream sends, a piece at a time, and how long its reader has taken nothing. */
export type Source = {
  next(): Promise<Uint8Array<ArrayBuffer> | null>;
  close(): void;
  readonly stalledMs: number;
};

type Open = { source: Source; drop(): void };

// As long as a connection is open its buffer stays as large as the largest piece that could not go out
// at once, and most who listen are idle.
const largestPiece = 2 * 1024;

/**
 * The streams that are open. Each piece is asked for when the one before it was taken: one who reads
 * slowly costs what the system keeps for the connection, and one who reads no more is dropped.
 */
export class Connections {
  readonly #most: number;
  readonly #patienceMs: number;
  readonly #open = new Set<Open>();
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor({ most, patienceMs }: { most: number; patienceMs: number }) {
    this.#most = most;
    this.#patienceMs = patienceMs;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** @throws WorkflowError `TOO_MANY_STREAMS` when no more may be open. */
  checkRoom(): void {
    if (this.#open.size < this.#most) return;
    throw new WorkflowError({
      code: "TOO_MANY_STREAMS",
      kind: "failed",
      message: `${this.#most} streams are open, and that is the most`,
      hint: "close some",
    });
  }

  /** The answer that sends what a source has. */
  send(source: Source): Response {
    const open: Open = { source, drop: () => undefined };
    let rest: Uint8Array<ArrayBuffer> | null = null;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: (controller) => {
          open.drop = () => {
            this.#forget(open);
            controller.error(new Error("the reader has stopped reading"));
          };
        },
        pull: async (controller) => {
          // What can't be read ends the stream: who comes back is told why.
          const bytes = rest ?? (await source.next().catch(() => null));
          if (!this.#open.has(open)) return;
          if (bytes) {
            rest = bytes.length > largestPiece ? bytes.subarray(largestPiece) : null;
            controller.enqueue(bytes.subarray(0, largestPiece));
          } else {
            this.#forget(open);
            controller.close();
          }
        },
        cancel: () => this.#forget(open),
      },
      { highWaterMark: 0 },
    );
    this.#open.add(open);
    this.#timer ??= setInterval(() => this.#dropStalled(), Math.min(5_000, this.#patienceMs));
    return new Response(body, {
      headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" },
    });
  }

  /** Ends all of them. */
  close(): void {
    for (const open of this.#open) open.drop();
  }

  #forget(open: Open): void {
    if (!this.#open.delete(open)) return;
    open.source.close();
    if (this.#open.size > 0 || !this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #dropStalled(): void {
    for (const open of this.#open) {
      if (open.source.stalledMs > this.#patienceMs) open.drop();
    }
  }
}
