import {
  type ErrorKind,
  type ErrorRecord,
  isWorkflowError,
  messageOf,
  WorkflowError,
} from "../contract/error.ts";
import { isRecord } from "../contract/show.ts";
import { requestText } from "../control/control.ts";
import {
  badServerUrl,
  badToken,
  noServer,
  notAServer,
  otherProtocol,
  outcomeUnknown,
  redirected,
  refusedToken,
} from "./errors.ts";
import {
  protocolVersion,
  type RemoteGreeting,
  type RemoteReply,
  type RemoteRequest,
} from "./protocol.ts";

/** Options of the connection to a server. */
export type LinkOptions = {
  token?: string | undefined;
  /**
   * Time in milliseconds for which a request is repeated while the server does not respond. By default 3,000 while the
   * host is opened, then 30,000.
   */
  patienceMs?: number | undefined;
  /** Timeout of each request in milliseconds, by default 120,000. */
  answerMs?: number | undefined;
};

/** Options of a call: `key` for calls with an effect, `once` for calls that must not be applied twice. */
export type CallOptions = { key?: string; once?: boolean };

const firstPauseMs = 100;
const longestPauseMs = 2_000;
const busy: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A lost request: the connection or a proxy failed. `isSent` is false if the server can't have received it. */
export class Lost extends Error {
  readonly isSent: boolean;
  readonly afterMs: number;
  /** The server's own error, if the server was busy. */
  readonly refusal: WorkflowError | null;

  constructor(
    problem: string,
    {
      isSent = true,
      afterMs = 0,
      refusal = null,
    }: { isSent?: boolean; afterMs?: number; refusal?: WorkflowError | null } = {},
  ) {
    super(problem);
    this.isSent = isSent;
    this.afterMs = afterMs;
    this.refusal = refusal;
  }
}

/** Sends requests to a server, and repeats them while the server or a proxy does not respond. */
export class Link {
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #answerMs: number;
  readonly #patienceMs: number;
  readonly #greetingMs: number;
  /** The last known instance of the server. */
  #instance = "";

  /** @param url The address of the server. @throws WorkflowError `BAD_HOST_URL`, `BAD_TOKEN` (usage). */
  constructor(url: string, { token, answerMs = 120_000, patienceMs }: LinkOptions) {
    this.url = serverUrl(url);
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) throw badToken();
    this.#headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    this.#answerMs = answerMs;
    this.#patienceMs = patienceMs ?? 30_000;
    this.#greetingMs = patienceMs ?? 3_000;
  }

  /**
   * Gets the server's greeting.
   * @throws WorkflowError `NO_SERVER`, `NOT_A_SERVER`, `OTHER_PROTOCOL`, `REDIRECTED`; the server's error for the token.
   */
  async greeting(): Promise<RemoteGreeting> {
    const patienceMs = this.#greetingMs;
    const found = await this.#repeated("the greeting", { patienceMs }, async (signal) => {
      return await jsonIn(await this.#sent("", { signal }), this.url);
    });
    const greeting = found as RemoteGreeting;
    if (!isRecord(found) || greeting.name !== "uncaged-workflow")
      throw notAServer(this.url, "another program answers");
    if (greeting.protocol !== protocolVersion)
      throw otherProtocol(this.url, greeting.protocol, protocolVersion);
    this.#instance = greeting.instance;
    return greeting;
  }

  /** Calls a method and returns its result. */
  async call(method: string, args: object, options: CallOptions = {}): Promise<unknown> {
    const { key, once = false } = options;
    const instance = this.#instance;
    let isRepeated = false;
    const attempt = async (limit: AbortSignal): Promise<unknown> => {
      const guard = once && isRepeated ? { instance } : {};
      const text = bodyText(args, { ...(key !== undefined && { key }), ...guard });
      try {
        const response = await this.#sent(`/${method}`, { text, signal: limit });
        const reply = (await jsonIn(response, this.url)) as RemoteReply;
        this.#instance = reply.instance;
        return reply.result;
      } catch (error) {
        if (error instanceof Lost && error.isSent) isRepeated = true;
        throw error;
      }
    };
    return await this.#repeated(method, { changes: key !== undefined }, attempt);
  }

  /** Opens a stream. The caller repeats it. @throws Lost */
  async open(
    method: string,
    args: object,
    { signal, ...more }: { signal: AbortSignal; forMs?: number | undefined },
  ): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#sent(`/${method}`, { text: bodyText(args, more), signal });
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream") || !response.body)
      throw notAServer(this.url, `it sends ${type === "" ? "no content type" : type}`);
    return response.body;
  }

  /** Repeats a request until it is answered or refused, or the time for retries has ended. */
  async #repeated<T>(
    method: string,
    { patienceMs = this.#patienceMs, changes = false }: { patienceMs?: number; changes?: boolean },
    attempt: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const retries = new Retries(patienceMs);
    let wasSent = false;
    for (;;) {
      try {
        return await attempt(AbortSignal.timeout(this.#answerMs));
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        wasSent ||= error.isSent && error.refusal === null;
        if (await retries.next(error.afterMs)) continue;
        if (changes && wasSent) throw outcomeUnknown(this.url, method, error.message);
        throw error.refusal ?? noServer(this.url, error.message);
      }
    }
  }

  get patienceMs(): number {
    return this.#patienceMs;
  }

  /** Sends one request. @throws Lost, and WorkflowError for a refusal. */
  async #sent(
    path: string,
    { text, signal }: { text?: string; signal: AbortSignal },
  ): Promise<Response> {
    const response = await this.#fetched(path, text, signal);
    const { status, headers, type } = response;
    if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
      void response.body?.cancel().catch(Boolean);
      throw redirected(this.url, placeOf(headers.get("location"), this.url));
    }
    if (response.ok) return response;
    const refusal = await this.#refusalOf(response);
    if (!busy.has(status)) throw refusal ?? notAServer(this.url, `status ${status}`);
    const afterMs = 1000 * Number(headers.get("retry-after") ?? 0) || 0;
    throw new Lost(`status ${status}`, { afterMs, refusal });
  }

  async #fetched(path: string, text: string | undefined, signal: AbortSignal): Promise<Response> {
    const headers = { ...this.#headers, ...(text && { "Content-Type": "application/json" }) };
    try {
      return await fetch(`${this.url}/api/host${path}`, {
        ...{ headers, signal, redirect: "manual", cache: "no-store", credentials: "omit" },
        ...(text !== undefined && { method: "POST", body: text }),
      });
    } catch (error) {
      throw lostBy(error);
    }
  }

  /** Returns the server's own error in a response; null for the response of another program. */
  async #refusalOf(response: Response): Promise<WorkflowError | null> {
    const body = await jsonIn(response, this.url).catch(() => null);
    if (!isRecord(body) || !isRecord(body.error)) return null;
    const { code, message, hint, details, kind } = body.error;
    if (typeof code !== "string" || typeof message !== "string") return null;
    const record: ErrorRecord = {
      ...{ code, message, kind: kindOf(kind, response.status) },
      ...(typeof hint === "string" && { hint }),
      ...(Array.isArray(details) && { details: details.map(String) }),
    };
    return response.status === 401 ? refusedToken(this.url, record) : new WorkflowError(record);
  }
}

/** The pauses between the attempts of a request, and the time for retries. */
export class Retries {
  readonly #signal: AbortSignal | undefined;
  readonly #patienceMs: number;
  #until: number;
  #pauseMs = firstPauseMs;

  constructor(patienceMs: number, signal?: AbortSignal) {
    this.#signal = signal;
    this.#patienceMs = patienceMs;
    this.#until = performance.now() + patienceMs;
  }

  /** Restarts the time for retries, but not the pauses. */
  extend(): void {
    this.#until = performance.now() + this.#patienceMs;
  }

  /** Restarts the time for retries and the pauses, after a success. */
  reset(): void {
    this.extend();
    this.#pauseMs = firstPauseMs;
  }

  /**
   * Waits for the next attempt. Returns false if the time for retries has ended, and at once when the signal is
   * aborted.
   */
  async next(leastMs = 0): Promise<boolean> {
    const jitter = 0.5 + Math.random() / 2;
    const pause = Math.max(leastMs, this.#pauseMs * jitter);
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
    if (performance.now() + pause > this.#until) return false;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pause);
      const stop = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#signal?.addEventListener("abort", stop, { once: true });
      if (this.#signal?.aborted) stop();
    });
    return true;
  }
}

type More = Omit<RemoteRequest, "protocol" | "arguments">;

const bodyText = (args: object, more: More): string =>
  requestText({ protocol: protocolVersion, arguments: args, ...more } satisfies RemoteRequest);

/** Reads the JSON of a response. Throws `Lost` for a truncated body. */
async function jsonIn(response: Response, url: string): Promise<unknown> {
  const type = response.headers.get("content-type") ?? "";
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    throw lostBy(error);
  }
  if (!/^application\/json\b/i.test(type))
    throw notAServer(url, `it sends ${type === "" ? "no content type" : type.slice(0, 80)}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Lost("the response was cut off");
  }
}

/** Returns the error for a failed connection. Each runtime reports the reason in another property. */
export function lostBy(error: unknown): unknown {
  if (isWorkflowError(error) || error instanceof Lost) return error;
  const codes = [error, (error as { cause?: unknown } | null)?.cause].map(
    (one) => (one as { code?: unknown; name?: unknown } | null | undefined)?.code,
  );
  const code = codes.find((one) => typeof one === "string");
  const isSent = !unsent.has(String(code));
  const { name } = (error ?? {}) as { name?: unknown };
  if (name === "TimeoutError") return new Lost("no response in time");
  const reason = typeof code === "string" ? code : messageOf(error).slice(0, 200);
  return new Lost(isSent ? `the connection was lost (${reason})` : `no response (${reason})`, {
    isSent,
  });
}

const unsent: ReadonlySet<string> = new Set([
  "ConnectionRefused",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "FailedToOpenSocket",
]);

const byStatus: Record<number, ErrorKind> = { 400: "usage", 404: "missing" };

const kindOf = (kind: unknown, status: number): ErrorKind =>
  kind === "usage" || kind === "missing" || kind === "failed"
    ? kind
    : (byStatus[status] ?? "failed");

/** Returns an address without its query, which may hold a secret. */
function placeOf(location: string | null, url: string): string | null {
  const to = location === null ? null : URL.parse(location, url);
  return to && `${to.origin}${to.pathname}`;
}

/** Returns the address of a server without a trailing slash. */
function serverUrl(text: string): string {
  const shown = text.replace(/[?#].*$/s, "").replace(/\/\/[^/@]*@/, "//***@");
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw badServerUrl(shown, "is not the address of a server");
  if (url.username || url.password) throw badServerUrl(shown, "must not contain a password");
  if (url.search || url.hash) throw badServerUrl(shown, "must not have a query or a fragment");
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}
