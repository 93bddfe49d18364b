import { publish } from "../run/run.ts";
import { checkAccess, type Patience } from "./access.ts";
import {
  type ClientError,
  hostOf,
  type PartialUsage,
  ProviderError,
  providerError,
  reasonOf,
  type Target,
} from "./error.ts";
import type { ModelAnswer } from "./provider.ts";

// An event that brings a few characters has some 150 bytes around them.
const bytesPerCharacter = 16;

/** Builds an answer from a stream's events. `add` throws on an event that is not of the protocol. */
export type Accumulator<Event, Answer = ModelAnswer> = {
  add: (event: Event) => void;
  /** The answer, null as long as its end has not come. */
  answer: () => Answer | null;
  /** What was counted of it so far, null when nothing was. */
  readonly partial: PartialUsage | null;
  readonly size: number;
};

/** A call of a provider's client. `clientErrorOf` reads what the client throws. */
export type ClientCall<Event> = {
  open: (guard: StallGuard) => Promise<AsyncIterable<Event> | Iterable<Event>>;
  clientErrorOf: (error: unknown) => ClientError | null;
  target: Target;
  patience: Patience;
  signal?: AbortSignal;
};

/**
 * Opens a stream and reads it to its end.
 * @throws ProviderError whatever goes wrong; the signal's reason when it is aborted.
 */
export async function streamAnswer<Event, Answer = ModelAnswer>(
  { open, clientErrorOf, target, patience, signal }: ClientCall<Event>,
  accumulator: Accumulator<Event, Answer>,
): Promise<Answer> {
  checkAccess(target);
  const { maxAnswerLength } = patience;
  const guard = new StallGuard(target, patience, signal);
  let hasBegun = false;
  try {
    for await (const event of await open(guard)) {
      hasBegun = true;
      add(accumulator, event, target);
      if (accumulator.size > maxAnswerLength) {
        throw tooLarge(target, `${maxAnswerLength} characters`);
      }
    }
    signal?.throwIfAborted();
    if (guard.error) throw guard.error;
    const answer = accumulator.answer();
    if (answer !== null) return answer;
    throw providerError(hasBegun ? { kind: "cut", reason: "its end never came" } : noJson, target);
  } catch (thrown) {
    signal?.throwIfAborted();
    const reason = reasonOf(thrown);
    const unknown: ClientError =
      hasBegun || guard.isAnswering ? { kind: "cut", reason } : { kind: "other", message: reason };
    const known = guard.error ?? (thrown instanceof ProviderError ? thrown : null);
    const error = known ?? providerError(clientErrorOf(thrown) ?? unknown, target);
    error.partial = accumulator.partial;
    throw error;
  } finally {
    guard.close();
  }
}

const noJson: ClientError = { kind: "json" };

function add<Event>(accumulator: Accumulator<Event, unknown>, event: Event, target: Target): void {
  try {
    accumulator.add(event);
  } catch (error) {
    throw error instanceof ProviderError ? error : providerError(noJson, target);
  }
}

function tooLarge({ provider }: Target, most: string): ProviderError {
  return new ProviderError("LLM_TOO_LARGE", `${provider} sent an answer of more than ${most}`);
}

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Guards the bytes of an answer beneath a provider's client, which itself drops what only shows that
 * the server lives, and holds a line in memory until it ends. `fetch` is to be given to the client, and
 * `signal` to its request: it is aborted by the caller's signal and when a limit is exceeded. Each request
 * that the client repeats is published as `llm_retry`.
 */
export class StallGuard {
  /** Why the answer was given up: the server fell silent, or sent too much. */
  error: ProviderError | null = null;
  /** Whether an answer that is none of the protocol's errors has begun to come. */
  isAnswering = false;
  readonly #target: Target;
  readonly #silenceMs: number;
  readonly #mostBytes: number;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAt = 0;
  #bytes = 0;
  #requests = 0;
  #failed = { at: 0, error: "" };

  constructor(
    target: Target,
    { silenceMs, maxAnswerLength }: Patience,
    signal: AbortSignal | undefined,
  ) {
    this.#target = target;
    this.#silenceMs = silenceMs;
    this.#mostBytes = maxAnswerLength * bytesPerCharacter;
    this.#outer = signal;
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly fetch: Fetch = async (url, init) => {
    this.#request();
    // Bun and Node end a quiet answer after 5 minutes: our own limits decide.
    const unlimited: RequestInit & { timeout: boolean } = { ...init, timeout: false };
    const response = await fetch(url, unlimited).catch((error: unknown) => {
      this.#failed = { at: performance.now(), error: reasonOf(error) };
      throw error;
    });
    this.#failed = { at: performance.now(), error: `HTTP ${response.status}` };
    this.isAnswering = response.ok;
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    return new Response(this.#guarded(response.body), { status, statusText, headers });
  };

  /** Ends the guard; no timer is left behind. */
  close(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#abort);
  }

  readonly #abort = () => this.#controller.abort();

  #request(): void {
    this.#requests += 1;
    if (this.#requests === 1) return;
    const { at, error } = this.#failed;
    publish("llm_retry", {
      provider: this.#target.provider,
      attempt_number: this.#requests,
      delay_ms: Math.round(performance.now() - at),
      error,
    });
  }

  #guarded(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    this.#lastAt = performance.now();
    this.#bytes = 0;
    this.#arm(this.#silenceMs);
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          this.#lastAt = performance.now();
          this.#bytes += value.byteLength;
          if (this.#bytes > this.#mostBytes) {
            this.#giveUp(tooLarge(this.#target, `${this.#mostBytes} bytes`));
          }
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
      const quiet = performance.now() - this.#lastAt;
      if (quiet < this.#silenceMs) return this.#arm(this.#silenceMs - quiet);
      const { provider, baseUrl } = this.#target;
      const message = `${provider} at ${hostOf(baseUrl)} sent nothing for ${this.#silenceMs} ms`;
      this.#giveUp(new ProviderError("LLM_SILENT", message));
    }, ms);
  }

  #giveUp(error: ProviderError): void {
    this.error ??= error;
    this.#controller.abort();
  }
}
