/** How long a server may be silent within an answer, and how many bytes it may send. */
export type Limits = { silenceMs: number; maxBytes: number };

/** Why a watched answer was given up: the server fell silent, or sent too much. */
export type Broken = "silent" | "too large";

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Watches the bytes of an answer beneath a provider's client, which itself drops what only shows that
 * the server lives, and holds a line in memory until it ends. `fetch` is to be given to the client, and
 * `signal` to its request: it is aborted by the caller's signal and when a limit is passed.
 */
export class Watch {
  broken: Broken | null = null;
  /** Whether an answer that is none of the protocol's errors has begun to come. */
  answering = false;
  readonly #limits: Limits;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #heard = 0;
  #bytes = 0;

  constructor(limits: Limits, signal: AbortSignal | undefined) {
    this.#limits = limits;
    this.#outer = signal;
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly fetch: Fetch = async (url, init) => {
    // Bun and Node end a quiet answer after 5 minutes: that is for our limits to say.
    const unlimited: RequestInit & { timeout: boolean } = { ...init, timeout: false };
    const response = await fetch(url, unlimited);
    this.answering = response.ok;
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    return new Response(this.#watched(response.body), { status, statusText, headers });
  };

  /** Ends the watch; no timer is left behind. */
  close(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#abort);
  }

  readonly #abort = () => this.#controller.abort();

  #watched(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    this.#heard = performance.now();
    this.#bytes = 0;
    this.#arm(this.#limits.silenceMs);
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          this.#heard = performance.now();
          this.#bytes += value.byteLength;
          if (this.#bytes > this.#limits.maxBytes) this.#give("too large");
          controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  // One timer for many pieces: it looks when the last one came, and waits for the rest.
  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const quiet = performance.now() - this.#heard;
      if (quiet < this.#limits.silenceMs) this.#arm(this.#limits.silenceMs - quiet);
      else this.#give("silent");
    }, ms);
  }

  #give(broken: Broken): void {
    this.broken ??= broken;
    this.#controller.abort();
  }
}
