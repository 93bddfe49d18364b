import { checkAccess } from "./access.ts";
import {
  type Target,
  type ClientError,
  hostOf,
  ProviderError,
  providerError,
  type PartialUsage,
} from "./error.ts";
import type { ModelAnswer } from "./provider.ts";

/** How a provider is reached, and how long it is waited for. */
export type Access = {
  apiKey?: string;
  baseUrl?: string;
  /** How long the provider may take until it begins to answer, each time it is asked (10 minutes). */
  timeoutMs?: number;
  /** How long it may then send nothing at all (4 minutes). */
  silenceMs?: number;
  /** How often the provider's client asks again when an answer could not begin (2). */
  maxRetries?: number;
  /** The most characters of one answer: its text, thinking and tool calls together (16 Mi). */
  maxAnswerLength?: number;
};

/** The bounds of one answer. */
export type Patience = Required<Omit<Access, "apiKey" | "baseUrl">>;

/** What the options leave open. */
export const patienceOf = (access: Access): Patience => ({
  timeoutMs: access.timeoutMs ?? 600_000,
  silenceMs: access.silenceMs ?? 240_000,
  maxRetries: access.maxRetries ?? 2,
  maxAnswerLength: access.maxAnswerLength ?? 16 * 2 ** 20,
});

// An event that brings a few characters has some 150 bytes around them.
const bytesPerCharacter = 16;

/** What takes a stream's events in. `take` throws on an event that is not of the protocol. */
export type Accumulator<Event, Answer = ModelAnswer> = {
  take: (event: Event) => void;
  /** The answer, null as long as its end has not come. */
  answer: () => Answer | null;
  /** What was counted of it so far, null when nothing was. */
  readonly told: PartialUsage | null;
  readonly size: number;
};

/** A provider's stream, and how to read what its client throws. */
export type Source<Event> = {
  open: (guard: StallGuard) => Promise<AsyncIterable<Event> | Iterable<Event>>;
  clientErrorOf: (error: unknown) => ClientError | null;
};

/**
 * Opens a stream and takes it in to its end.
 * @throws ProviderError whatever goes wrong; the signal's reason when it is aborted.
 */
export async function answered<Event, Answer = ModelAnswer>(
  { open, clientErrorOf }: Source<Event>,
  accumulator: Accumulator<Event, Answer>,
  { asked, patience, signal }: { asked: Target; patience: Patience; signal?: AbortSignal },
): Promise<Answer> {
  checkAccess(asked);
  const { maxAnswerLength, silenceMs } = patience;
  const limits = { silenceMs, maxBytes: maxAnswerLength * bytesPerCharacter };
  const guard = new StallGuard(limits, signal);
  let begun = false;
  try {
    const events = await open(guard);
    for await (const event of events) {
      begun = true;
      take(accumulator, event, asked);
      if (accumulator.size > maxAnswerLength)
        throw tooLarge(asked, `${maxAnswerLength} characters`);
    }
    signal?.throwIfAborted();
    if (guard.broken) throw brokenError(guard.broken, asked, limits);
    const answer = accumulator.answer();
    if (answer !== null) return answer;
    throw providerError(
      begun ? { kind: "cut", reason: "its end never came" } : { kind: "json" },
      asked,
    );
  } catch (thrown) {
    signal?.throwIfAborted();
    const error = guard.broken
      ? brokenError(guard.broken, asked, limits)
      : errorOf(thrown, clientErrorOf, begun || guard.answering, asked);
    error.told = accumulator.told;
    throw error;
  } finally {
    guard.close();
  }
}

function errorOf(
  thrown: unknown,
  clientErrorOf: (error: unknown) => ClientError | null,
  begun: boolean,
  asked: Target,
): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  const reason = reasonOf(thrown);
  const unknown: ClientError = begun ? { kind: "cut", reason } : { kind: "other", message: reason };
  return providerError(clientErrorOf(thrown) ?? unknown, asked);
}

function take<Event>(accumulator: Accumulator<Event, unknown>, event: Event, asked: Target): void {
  try {
    accumulator.take(event);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    throw providerError({ kind: "json" }, asked);
  }
}

function brokenError(
  broken: NonNullable<StallGuard["broken"]>,
  asked: Target,
  limits: Limits,
): ProviderError {
  const at = `${asked.provider} at ${hostOf(asked.baseUrl)}`;
  if (broken === "too large") return tooLarge(asked, `${limits.maxBytes} bytes`);
  return new ProviderError("LLM_SILENT", `${at} sent nothing for ${limits.silenceMs} ms`);
}

function tooLarge({ provider }: Target, most: string): ProviderError {
  return new ProviderError("LLM_TOO_LARGE", `${provider} sent an answer of more than ${most}`);
}

/** Why a connection failed, in a word or a sentence. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}

/** How long a server may be silent within an answer, and how many bytes it may send. */
export type Limits = { silenceMs: number; maxBytes: number };

/** Why a guarded answer was given up: the server fell silent, or sent too much. */
export type Broken = "silent" | "too large";

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Watches the bytes of an answer beneath a provider's client, which itself drops what only shows that
 * the server lives, and holds a line in memory until it ends. `fetch` is to be given to the client, and
 * `signal` to its request: it is aborted by the caller's signal and when a limit is passed.
 */
export class StallGuard {
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
    return new Response(this.#guarded(response.body), { status, statusText, headers });
  };

  /** Ends the guard; no timer is left behind. */
  close(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#abort);
  }

  readonly #abort = () => this.#controller.abort();

  #guarded(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
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
