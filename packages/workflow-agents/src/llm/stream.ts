import { UnreadableContent } from "../content/sent.ts";
import { fetchWithinOrigin, RedirectError } from "../http/http.ts";
import { checkAccess, type Patience } from "./access.ts";
import { retryAfterIn } from "../limit/headers.ts";
import type { Accumulator } from "./accumulator.ts";
import { NotJson, receivedIn } from "./events.ts";
import {
  type ClientError,
  type ClientErrors,
  clientErrorOf,
  hostOf,
  type HttpFailure,
  ProviderError,
  providerError,
  reasonOf,
  StreamFailure,
  type Target,
} from "./error.ts";
import { failureInBody } from "./failure.ts";
import type { ModelAnswer, ModelSink } from "./provider.ts";
import { answerTooLarge, callRedirected, serverSilent } from "./errors.ts";

// Maximum wait for the end of the connection after a complete answer, in milliseconds. A connection that ends properly
// can be reused.
const lastWaitMs = 1000;
const mostOfError = 64 * 1024;
// Maximum number of received bytes for each character of an answer. An event with a few characters has about 150 other
// bytes.
const bytesPerCharacter = 16;

export type ClientCall = Target &
  Patience & { classes: ClientErrors; signal?: AbortSignal } & Pick<ModelSink, "onResponse">;

/**
 * Runs a call of a model client.
 * @throws ProviderError for every failure; the signal's reason if the signal is aborted.
 */
export async function callClient<Result>(
  call: ClientCall,
  work: (guard: StallGuard) => Promise<Result>,
): Promise<Result> {
  checkAccess(call);
  const { signal } = call;
  const guard = new StallGuard(call);
  try {
    const result = await work(guard);
    signal?.throwIfAborted();
    if (guard.error) throw guard.error;
    return result;
  } catch (thrown) {
    signal?.throwIfAborted();
    if (guard.error) throw guard.error;
    if (thrown instanceof ProviderError) throw thrown;
    if (guard.refusal) throw providerError(guard.refusal, call);
    const reason = reasonOf(thrown);
    const [cut, other] = [
      { kind: "cut", reason },
      { kind: "other", message: reason },
    ] as const;
    const known = clientErrorOf(thrown, call.classes);
    throw providerError(known ?? (guard.isAnswering ? cut : other), call);
  } finally {
    guard.close();
  }
}

/**
 * Runs a streamed call of a model client, and reads the whole answer. A connection that breaks off or falls silent
 * after the end of the answer does not affect the answer. A thrown `ProviderError` has the reported usage of the
 * answer.
 */
export async function streamAnswer(
  call: ClientCall,
  accumulator: Accumulator,
  open: (guard: StallGuard) => Promise<Response>,
): Promise<ModelAnswer> {
  const ended = () => read(call, () => accumulator.answer());
  try {
    return await callClient(call, async (guard) => {
      const { body } = await open(guard);
      try {
        for await (const received of body === null ? [] : receivedIn(body)) {
          const isWhole = accumulator.isWhole;
          read(call, () => accumulator.take(received));
          if (accumulator.size > call.maxAnswerLength) {
            throw answerTooLarge(call.provider, `${call.maxAnswerLength} characters`);
          }
          if (accumulator.isWhole && !isWhole) guard.expectEnd();
        }
      } catch (error) {
        const answer = accumulator.isWhole || isCut(error, guard) ? ended() : null;
        if (answer === null || call.signal?.aborted) throw unreadError(call, error);
        guard.error = null;
        return answer;
      }
      const answer = ended();
      if (answer !== null) return answer;
      throw providerError({ kind: "cut", reason: "the end of the answer is missing" }, call);
    });
  } catch (error) {
    if (error instanceof ProviderError) error.partial = accumulator.partial;
    throw error;
  }
}

/** Returns whether only the connection ended, without an error in the received data. */
const isCut = (error: unknown, { error: given }: StallGuard): boolean =>
  given === null
    ? ![ProviderError, StreamFailure, NotJson].some((kind) => error instanceof kind)
    : given.code === "LLM_SILENT";

const unreadError = (target: Target, error: unknown): unknown =>
  error instanceof StreamFailure || error instanceof NotJson
    ? providerError(unreadIn(error), target)
    : error;

function read<Result>(target: Target, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof ProviderError ? error : providerError(unreadIn(error), target);
  }
}

function unreadIn(error: unknown): ClientError {
  if (error instanceof StreamFailure) return error.failure;
  if (error instanceof NotJson) return { kind: "json" };
  if (error instanceof UnreadableContent) return { kind: "unreadable", problem: error.message };
  return { kind: "garbled" };
}

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Checks the bytes of an answer before a provider's client reads them. The client itself drops keep-alives, and buffers
 * a line until its end. Pass `fetch` to the client and `signal` to the client's request.
 */
export class StallGuard {
  /** The error of an aborted answer, if the server fell silent or sent too much. */
  error: ProviderError | null = null;
  /** The error that the server reported. */
  refusal: HttpFailure | null = null;
  /** Whether an answer, and not an error response, has started to arrive. */
  isAnswering = false;
  readonly signal: AbortSignal;
  readonly #call: ClientCall;
  readonly #mostBytes: number;
  #silenceMs: number;
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAt = 0;

  constructor(call: ClientCall) {
    const own = this.#controller.signal;
    this.signal = call.signal ? AbortSignal.any([own, call.signal]) : own;
    this.#call = call;
    this.#silenceMs = call.silenceMs;
    this.#mostBytes = call.maxAnswerLength * bytesPerCharacter;
  }

  readonly fetch: Fetch = async (url, init) => {
    // Bun and Node abort a silent response after 5 minutes. The options `timeoutMs` and `silenceMs` apply instead.
    const unlimited = { ...init, timeout: false, hasCredential: true };
    const address = url instanceof Request ? url.url : url;
    const response = await fetchWithinOrigin(address, unlimited).catch((error: unknown) => {
      if (error instanceof RedirectError) this.error = callRedirected(this.#call.provider, error);
      throw error;
    });
    this.isAnswering = response.ok;
    this.#call.onResponse?.(response);
    if (!response.ok) {
      const { status, headers, body } = response;
      const failure = failureInBody(await this.#beginningOf(body), status);
      const retryAfterMs = retryAfterIn(headers) ?? failure.retryAfterMs ?? null;
      this.refusal = { ...failure, retryAfterMs };
      return new Response(null, response);
    }
    return response.body ? new Response(this.#guarded(response.body), response) : response;
  };

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Limits the wait for the end of the connection after a complete answer. */
  expectEnd(): void {
    this.#silenceMs = Math.min(this.#silenceMs, lastWaitMs);
    this.#arm(this.#silenceMs);
  }

  /** Returns the start of an error response's body, even if the body breaks off. */
  async #beginningOf(body: ReadableStream<Uint8Array> | null): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    try {
      for await (const chunk of body === null ? [] : this.#guarded(body)) {
        text += decoder.decode(chunk, { stream: true });
        if (text.length > mostOfError) break;
      }
    } catch {
      // The status suffices.
    }
    return text;
  }

  #guarded(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    let bytes = 0;
    this.#lastAt = performance.now();
    this.#arm(this.#silenceMs);
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          this.#lastAt = performance.now();
          bytes += value.byteLength;
          if (bytes > this.#mostBytes) {
            this.#giveUp(answerTooLarge(this.#call.provider, `${this.#mostBytes} bytes`));
          }
          controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  // Uses one timer for many chunks. The timer checks the arrival time of the last chunk, and waits for the remaining
  // time.
  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const { provider, baseUrl } = this.#call;
      const silenceMs = this.#silenceMs;
      const quiet = performance.now() - this.#lastAt;
      if (quiet < silenceMs) return this.#arm(silenceMs - quiet);
      this.#giveUp(serverSilent(provider, hostOf(baseUrl), silenceMs));
    }, ms);
  }

  #giveUp(error: ProviderError): void {
    this.error ??= error;
    this.#controller.abort();
  }
}
