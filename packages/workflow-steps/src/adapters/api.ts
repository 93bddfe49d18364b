import { parseExact } from "@uncaged/workflow/interpreter";
import { fetchWithinOrigin, RedirectError } from "@uncaged/workflow-agents/interpreter";
import type { ApiAdapter, ApiRequest } from "../adapter/adapter.ts";
import { LLMError } from "../adapter/error.ts";
import { decoded } from "../expression/value.ts";
import {
  answerNotJSON,
  answerTooLarge,
  apiTimeout,
  badHeaderName,
  badHeaderValue,
  badMethod,
  badURL,
  redirected,
  unexpectedBody,
  unreachable,
} from "./errors.ts";

/**
 * `timeoutMs` is the timeout of requests whose step sets none (2 minutes). `mostBytes` limits the size of a response.
 */
export type ApiAdapterOptions = { timeoutMs?: number; mostBytes?: number };

/**
 * Returns an `api` adapter over `fetch`. Sends a string or bytes unchanged, and any other body as JSON. Parses a JSON
 * response, returns other text as a string, and everything else as bytes. Does not throw for any HTTP status. A
 * redirect to another origin gets neither headers nor body.
 */
export function apiAdapter({
  timeoutMs = 120_000,
  mostBytes = 64 * 1024 * 1024,
}: ApiAdapterOptions = {}): ApiAdapter {
  return {
    async request(request) {
      const ms = request.timeout ?? timeoutMs;
      const late = AbortSignal.timeout(ms);
      const signal = AbortSignal.any([request.signal, late]);
      try {
        return await answered(request, signal, mostBytes);
      } catch (error) {
        request.signal.throwIfAborted();
        if (late.aborted) throw apiTimeout(request.id, ms);
        if (error instanceof LLMError) throw error;
        if (error instanceof RedirectError) throw redirected(request.id, error);
        throw connectionError(request, error);
      }
    },
  };
}

async function answered(
  request: ApiRequest,
  signal: AbortSignal,
  mostBytes: number,
): ReturnType<ApiAdapter["request"]> {
  const { id, method } = request;
  const url = urlOf(request);
  const { body, type } = bodyOf(request);
  const headers = { ...(type && { "content-type": type }), ...request.headers };
  // Disable Bun's timeout of 5 minutes, because `signal` has the timeout.
  const init = { method, headers, body, signal, timeout: false };
  checkSendable({ ...request, headers });
  // A Download may follow a redirect to another origin, such as a CDN, because that origin gets no headers. An API call
  // must stay on one origin.
  const hasCredential = request.bytes ? false : request.hasCredential;
  const response = await fetchWithinOrigin(url, { ...init, hasCredential });
  const bytes = await bytesOf(id, response, mostBytes);
  const kind = response.headers.get("content-type") ?? "";
  const data = request.bytes ? bytes : dataOf(id, bytes, kind, response.ok);
  return { status: response.status, headers: Object.fromEntries(response.headers), data };
}

// RFC 9110: methods and header names are tokens; header values have no line breaks and no characters beyond Latin-1.
const token = /^[!#$%&'*+.^_`|~\w-]+$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Rejects an invalid request before it is sent. Messages never quote values, which may be secrets. */
function checkSendable({ headers, id, method }: ApiRequest): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!token.test(name)) throw badHeaderName(id, name);
    if (headerValue.test(value.trim())) continue;
    throw badHeaderValue(id, name);
  }
  if (!token.test(method)) throw badMethod(id, method);
}

function urlOf({ id, url: given, query = {} }: ApiRequest): URL {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw badURL(id);
  }
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (one === undefined || one === null) continue;
      url.searchParams.append(name, typeof one === "string" ? one : JSON.stringify(one));
    }
  }
  return url;
}

function bodyOf({ id, method, body }: ApiRequest): { body?: RequestInit["body"]; type?: string } {
  if (body === undefined) return {};
  if (method === "GET" || method === "HEAD") throw unexpectedBody(id, method);
  if (typeof body === "string") return { body, type: "text/plain; charset=utf-8" };
  const isBytes = body instanceof Uint8Array;
  if (isBytes) return { body: new Uint8Array(body), type: "application/octet-stream" };
  return { body: JSON.stringify(body), type: "application/json" };
}

async function bytesOf(id: string, { body }: Response, most: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += piece.length;
    if (length > most) throw answerTooLarge(id, most);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function dataOf(id: string, bytes: Uint8Array, type: string, isOk: boolean): unknown {
  if (bytes.length === 0) return null;
  const text = decoded(bytes);
  if (text === null) return bytes;
  if (!/^application\/([\w.-]+\+)?json\b/i.test(type)) return text;
  try {
    // Read numbers that JavaScript would round, such as long ids, as strings.
    return parseExact(text);
  } catch {
    // The text of an error response is more useful than a parse error.
    if (!isOk) return text;
    throw answerNotJSON(id, type);
  }
}

function connectionError({ id, url }: ApiRequest, cause: unknown): LLMError {
  const { code } = cause as { code?: unknown };
  const host = URL.canParse(url) ? new URL(url).host : "its address";
  return unreachable(id, host, { code: typeof code === "string" ? code : undefined, cause });
}
