import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A tool call in a reply. `json` replaces the arguments, unchanged. */
export type ReplyTool = { name: string; input?: object; json?: string };

/** A fault that replaces or interrupts a reply. */
export type Fault =
  | {
      kind: "status";
      status: number;
      type: string;
      message: string;
      headers?: Record<string, string>;
    }
  | { kind: "page"; status: number; body: string }
  | { kind: "hang" }
  | { kind: "silence"; after: number; pings?: boolean }
  | { kind: "half-event"; after: number }
  | { kind: "error-event"; after: number; type: string; message: string };

/**
 * A server's reply to one request. A fault occurs `after` a number of events. `tokenMs` is the delay before each event,
 * in milliseconds. With `repeat`, the server sends the text that many times, in one event each. After `heldAfter`
 * events (4 by default), the server waits for `held`. A reply in one document with both `held` and `fault` is never
 * sent.
 */
export type Reply = {
  thinking?: string;
  text?: string;
  tools?: ReplyTool[];
  stop?: string;
  /** The error code with which the response fails. */
  failed?: string;
  /** The id of the container in which Anthropic's hosted tools ran. */
  container?: string;
  /** Blocks or items of hosted tools, before the text. */
  hosted?: object[];
  detail?: { category: string; explanation: string };
  tokenMs?: number;
  held?: Promise<unknown> | undefined;
  heldAfter?: number;
  repeat?: number;
  isUncounted?: boolean;
  /** Additional response headers. */
  headers?: Record<string, string>;
  fault?: Fault;
};

/** A server's token counts of one request or of all requests. */
export type Counted = {
  requests: number;
  input: number;
  output: number;
  thinking: number;
  cacheRead: number;
  cacheWrite: number;
};

/**
 * A received request, its token counts, and the counts that the sent events reported. `closed` resolves when the
 * request's connection closes.
 */
export type Came<Body> = {
  path: string;
  body: Body;
  headers: IncomingMessage["headers"];
  counted: Counted;
  reported: Counted;
  closed: Promise<void>;
  /** Whether the whole answer was sent before the connection closed. */
  readonly finished: boolean;
  /** Breaks the connection. The client loses data that it has not read, so first wait until the client has read it. */
  disconnect: () => void;
};

/** A server's replies in order, of which the last repeats, or a function that returns the reply to each request. */
export type Script<Body> = Reply[] | ((body: Body, nth: number) => Reply);

/** A server for a provider's protocol on a local port. */
export type WireServer<Body> = {
  url: string;
  key: string;
  came: Came<Body>[];
  counted: Counted;
  stop: () => Promise<void>;
};

/** The token counts of an answer, and the counts that its events reported. */
export type Sums = { counted: Counted; reported: Counted };

/** The requests, events and documents of a provider's protocol. */
export type Protocol<Body> = {
  /** Answers a request to another endpoint. Returns false for an unknown endpoint. */
  other: (request: { path: string; body: unknown }, response: ServerResponse) => boolean;
  isAnswered: (path: string) => boolean;
  /** Returns the problem of a request that the server must refuse, or null. */
  invalid?: (body: Body) => string | null;
  refuse: (response: ServerResponse, fault: Fault & { kind: "status" }) => void;
  errorEvent: (fault: Fault & { kind: "error-event" }) => string;
  ping: string;
  /** Yields the events of an answer as sent on the wire, and adds their tokens to `sums`. */
  events: (body: Body, reply: Reply, sums: Sums, nth: number) => Iterable<string>;
  /** Returns the answer as one JSON document. */
  document: (body: Body, reply: Reply, counted: Counted, nth: number) => unknown;
};

/** Returns the number of tokens in a text. For these servers, a token is four characters. */
export const tokensOf = (text: string): number => Math.ceil(text.length / 4);

/** Splits a text into tokens. */
export function* tokens(text: string): Iterable<string> {
  for (let at = 0; at < text.length; at += 4) yield text.slice(at, at + 4);
}

/** Starts a server that accepts one key and every model except `no-such-model`. */
export async function wireServer<Body extends { model: string; stream?: boolean | null }>(
  protocol: Protocol<Body>,
  script: Script<Body>,
): Promise<WireServer<Body>> {
  const key = "sk-test-0123456789abcdef";
  const came: Came<Body>[] = [];
  const counted = sumOf(came);
  const replyTo = (body: Body, nth: number): Reply =>
    typeof script === "function" ? script(body, nth) : (script[nth] ?? script.at(-1) ?? {});

  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, url: path = "/" } = request;
    const text = await textOf(request);
    if (!protocol.isAnswered(path)) {
      const body: unknown = text.startsWith("{") ? JSON.parse(text) : text;
      if (!protocol.other({ path, body }, response)) response.writeHead(404).end();
      return;
    }
    const body = JSON.parse(text) as Body;
    const closed = Promise.withResolvers<void>();
    response.on("close", closed.resolve);
    const nth = came.length;
    const finished = () => response.writableFinished;
    const sums = { counted: { ...nothing }, reported: { ...nothing } };
    const { counted: own } = sums;
    came.push({
      path,
      body,
      headers,
      ...sums,
      closed: closed.promise,
      get finished() {
        return finished();
      },
      disconnect: () => void response.socket?.destroy(),
    });
    const given = (headers.authorization ?? "").replace("Bearer ", "") || headers["x-api-key"];
    if (given !== key) {
      const message = `invalid key: ${String(given)}`;
      return protocol.refuse(response, { kind: "status", status: 401, type: "", message });
    }
    if (body.model === "no-such-model") {
      const message = `model: ${body.model}`;
      return protocol.refuse(response, { kind: "status", status: 404, type: "", message });
    }
    const problem = protocol.invalid?.(body) ?? null;
    if (problem !== null) {
      const fault = { kind: "status", status: 400, type: "invalid_request_error" } as const;
      return protocol.refuse(response, { ...fault, message: problem });
    }
    const reply = replyTo(body, nth);
    const { fault } = reply;
    if (fault?.kind === "hang") return;
    if (fault?.kind === "status") return protocol.refuse(response, fault);
    if (fault?.kind === "page") {
      response.writeHead(fault.status, { "content-type": "text/html" }).end(fault.body);
      return;
    }
    if (!body.stream && fault && reply.held) {
      await reply.held;
      response.destroy();
      return;
    }
    own.requests += 1;
    if (!body.stream) {
      const document = protocol.document(body, reply, own, nth);
      Object.assign(sums.reported, own);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(document));
      return;
    }
    const type = { "content-type": "text/event-stream", "cache-control": "no-cache" };
    response.writeHead(200, { ...type, ...reply.headers });
    await stream(protocol, protocol.events(body, reply, sums, nth), reply, response);
  }

  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    key,
    came,
    counted,
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped());
        server.closeAllConnections();
      }),
  };
}

const nothing: Counted = {
  requests: 0,
  input: 0,
  output: 0,
  thinking: 0,
  cacheRead: 0,
  cacheWrite: 0,
};

/** Returns live sums of the counts of all requests in `came`, including later requests. */
function sumOf(came: readonly { counted: Counted }[]): Counted {
  const sum = (name: keyof Counted) =>
    came.reduce((total, { counted }) => total + counted[name], 0);
  return {
    get requests() {
      return sum("requests");
    },
    get input() {
      return sum("input");
    },
    get output() {
      return sum("output");
    },
    get thinking() {
      return sum("thinking");
    },
    get cacheRead() {
      return sum("cacheRead");
    },
    get cacheWrite() {
      return sum("cacheWrite");
    },
  };
}

async function stream<Body>(
  protocol: Protocol<Body>,
  events: Iterable<string>,
  { fault, held, heldAfter = 4, tokenMs = 0 }: Reply,
  response: ServerResponse,
): Promise<void> {
  let sent = 0;
  for (const event of events) {
    if (fault && "after" in fault && sent === fault.after) {
      return await breakOff(protocol, fault, event, response);
    }
    if (sent === heldAfter) await held;
    if (tokenMs > 0) await new Promise((later) => setTimeout(later, tokenMs));
    if (response.destroyed) return;
    if (!response.write(event)) await drained(response);
    sent += 1;
  }
  response.end();
}

async function breakOff<Body>(
  protocol: Protocol<Body>,
  fault: Fault,
  event: string,
  response: ServerResponse,
): Promise<void> {
  if (fault.kind === "silence") {
    if (!fault.pings) return;
    while (!response.destroyed) {
      response.write(protocol.ping);
      await new Promise((later) => setTimeout(later, 20));
    }
    return;
  }
  if (fault.kind === "half-event") response.end(event.slice(0, event.length / 2));
  if (fault.kind === "error-event") response.end(protocol.errorEvent(fault));
}

const drained = (response: ServerResponse) =>
  new Promise<void>((ready) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      ready();
    };
    response.on("drain", done).on("close", done);
  });

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
