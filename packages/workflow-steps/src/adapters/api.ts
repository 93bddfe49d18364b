import { parseExact } from "@uncaged/workflow/interpreter";
import { fetchWithinOrigin, RedirectError } from "@uncaged/workflow-agents/interpreter";
import type { ApiAdapter, ApiRequest } from "../adapter/adapter.ts";
import { LLMError, messageOf } from "../adapter/error.ts";
import { decoded } from "../expression/value.ts";

/** How long an endpoint may take that no step gave a time (2 minutes), and the most that it may answer. */
export type ApiAdapterOptions = { timeoutMs?: number; mostBytes?: number };

/**
 * The adapter `api` over `fetch`. A body that is no text and no bytes is sent as JSON, and JSON that
 * comes is read; other text is a string, anything else is bytes. Every status is an answer. Headers and bodies stay
 * within the origin of the URL when it redirects.
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
        if (late.aborted) throw new LLMError("timeout", `${request.id} did not answer in ${ms} ms`);
        if (error instanceof LLMError) throw error;
        if (error instanceof RedirectError) throw redirected(request, error);
        throw unreachable(request, error);
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
  // Bun ends a quiet answer after 5 minutes: that is for our limits to say.
  const init = { method, headers, body, signal, timeout: false };
  checkSendable({ ...request, headers });
  // A file may lie on another origin, as on a CDN, which gets no headers. An API's answer comes from where its key is good.
  const hasCredential = request.bytes ? false : request.hasCredential;
  const response = await fetchWithinOrigin(url, { ...init, hasCredential });
  const bytes = await bytesOf(id, response, mostBytes);
  const kind = response.headers.get("content-type") ?? "";
  const data = request.bytes ? bytes : dataOf(id, bytes, kind, response.ok);
  return { status: response.status, headers: Object.fromEntries(response.headers), data };
}

// RFC 9110: a method and the name of a header are tokens; a value has neither line ends nor characters beyond Latin-1.
const token = /^[!#$%&'*+.^_`|~\w-]+$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What no request can hold is not a failure of the network. A message never has a value, which may be a secret. */
function checkSendable({ headers, id, method }: ApiRequest): void {
  const bad = (what: string) =>
    new LLMError("bad_request", `${id} can't be sent: ${what}`, { code: "BAD_PARAMS" });
  for (const [name, value] of Object.entries(headers)) {
    if (!token.test(name)) throw bad(`${JSON.stringify(name)} is not the name of a header`);
    if (headerValue.test(value.trim())) continue;
    throw bad(`its header ${name} has a line end, or a character beyond Latin-1`);
  }
  if (!token.test(method)) throw bad(`${JSON.stringify(method)} is not a method of HTTP`);
}

function urlOf({ id, url: given, query = {} }: ApiRequest): URL {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new LLMError("bad_request", `${id} has no http address`, { code: "BAD_URL" });
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
  if (method === "GET" || method === "HEAD") {
    throw new LLMError("bad_request", `${id}: a ${method} has no body`, { code: "BAD_PARAMS" });
  }
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
    if (length > most) {
      const message = `${id} answered with more than ${most} bytes`;
      throw new LLMError("bad_request", message, { code: "ANSWER_TOO_LARGE" });
    }
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
    // An id that a number would round comes as the text of its digits.
    return parseExact(text);
  } catch {
    // What a server answers about its own failure is worth more than that it is no JSON.
    if (!isOk) return text;
    throw new LLMError("json_parse_error", `${id} answered with ${type} that is no JSON`);
  }
}

const redirected = ({ id }: ApiRequest, { code, hint, message }: RedirectError): LLMError =>
  new LLMError("bad_request", `${id}: ${message}`, { code, hint });

function unreachable({ id, url }: ApiRequest, error: unknown): LLMError {
  const { code } = error as { code?: unknown };
  const known = typeof code === "string" ? code : undefined;
  const host = URL.canParse(url) ? new URL(url).host : "its address";
  const message = `${id} can't reach ${host}: ${known ?? messageOf(error)}`;
  return new LLMError("connection_error", message, { code: known });
}
