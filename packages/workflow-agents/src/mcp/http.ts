import { setTimeout as wait } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import { retryAfterIn } from "../limit/headers.ts";
import { isObject } from "../run/error.ts";
import { type Exchange, lostAnswer } from "./exchange.ts";

const mib = 2 ** 20;
export const longestMessage = 64 * mib;
const mostTries = 3;
const longestWaitMs = 30_000;

/** Status codes of a server or a proxy for a request that was not processed. */
const isNotDone = new Set([429, 503]);
const mayRepeat = /^(initialize|server\/discover|tools\/list|resources\/|prompts\/)/;

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Returns a `fetch` for an MCP client that passes only messages that the client understands. The exchange reads JSON
 * bodies and event streams, whatever their declared content type is. A request to a busy server is sent again after the
 * delay that the server requests.
 */
export const tolerantFetch =
  (exchange: Exchange): Fetch =>
  async (url, init = {}) => {
    const { method = "GET", body, signal } = init;
    const message: unknown = typeof body === "string" ? JSON.parse(body) : null;
    exchange.sent(message);
    const id = isObject(message) ? (message.id as string | number | undefined) : undefined;
    const own = id !== undefined && exchange.isWaiting(id) ? id : undefined;
    const forget = () => own !== undefined && exchange.forget(own);
    signal?.addEventListener("abort", forget, { once: true });
    const asked = isObject(message) ? String(message.method) : "";
    const response = await repeated(() => fetch(url, init), asked, signal ?? undefined);
    if (!response.ok || response.status === 202) {
      if (!response.ok) forget();
      return response;
    }
    if (!response.body) return own === undefined ? response : jsonOf("", exchange, own, response);
    const type = response.headers.get("content-type") ?? "";
    const isStream = type.toLowerCase().includes("text/event-stream");
    if (isStream) return new Response(eventsOf(response.body, exchange, own), response);
    if (method !== "POST" || own === undefined) return response;
    return jsonOf(await textOf(response.body), exchange, own, response);
  };

async function repeated(
  send: () => Promise<Response>,
  method: string,
  signal?: AbortSignal,
): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const response = await send();
    const { status } = response;
    const isAgain =
      isNotDone.has(status) || (status >= 502 && status <= 504 && mayRepeat.test(method));
    if (!isAgain || tries === mostTries || method === "") return response;
    await response.body?.cancel().catch(() => undefined);
    const ms = retryAfterIn(response.headers) ?? 500 * 2 ** tries;
    if (ms > longestWaitMs) return new Response(null, response);
    await wait(ms, undefined, { signal });
  }
}

/** Returns the text of a body, or null if it exceeds the maximum length of a message. */
async function textOf(body: ReadableStream<Uint8Array>): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > longestMessage) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function jsonOf(
  text: string | null,
  exchange: Exchange,
  own: string | number,
  response: Response,
): Response {
  const read = () => {
    if (text === null) return exchange.failed(tooLong, { own });
    const value = exchange.parsed(text);
    if (value !== undefined) return exchange.messages(value, own);
    const problem = text.trim() === "" ? "is empty" : "is not JSON";
    return exchange.failed(`its answer ${problem}`, { own });
  };
  const headers = new Headers(response.headers);
  headers.set("content-type", "application/json");
  headers.delete("content-length");
  headers.delete("content-encoding");
  const messages = read();
  const left = exchange.isWaiting(own)
    ? exchange.failed("its answer is missing a message", { own })
    : [];
  return new Response(JSON.stringify([...messages, ...left]), { status: 200, headers });
}

export const tooLong = `its answer is longer than ${longestMessage / mib} MiB`;

/**
 * Returns a stream of events with messages that the client understands. The request of the stream always gets an
 * answer, at the latest an error at the end of the stream.
 */
function eventsOf(
  body: ReadableStream<Uint8Array>,
  exchange: Exchange,
  own: string | number | undefined,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const out: string[] = [];
  let isResumable = false;
  const send = (messages: readonly unknown[], id?: string) => {
    if (id) isResumable = true;
    const head = id ? `id: ${id}\n` : "";
    if (messages.length === 0 && id) out.push(`${head}data:\n\n`);
    for (const one of messages) out.push(`${head}data: ${JSON.stringify(one)}\n\n`);
  };
  const onEvent = ({ data, id }: { data: string; id?: string | undefined }) =>
    send(exchange.line(data.replaceAll("\n", " "), own), id);
  const parser = createParser({ onEvent, onRetry: (ms) => out.push(`retry: ${ms}\n\n`) });
  return new ReadableStream({
    async pull(controller) {
      while (out.length === 0) {
        const read = await reader.read().catch(() => ({ done: true, value: undefined }));
        parser.feed(read.done ? "\n\n" : decoder.decode(read.value, { stream: true }));
        if (!read.done) continue;
        const problem = "the connection ended before its answer";
        if (own !== undefined && !isResumable)
          send(exchange.failed(problem, { own, code: lostAnswer }));
        controller.enqueue(encoder.encode(out.splice(0).join("")));
        controller.close();
        return;
      }
      controller.enqueue(encoder.encode(out.splice(0).join("")));
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
