import { chmod } from "node:fs/promises";
import {
  createServer,
  type IncomingMessage,
  request as requestTo,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf } from "../contract/error.ts";
import { type EgressPolicy, type Endpoint, endpointOf, textOf } from "./addresses.ts";
import { type Network, reachBy, realNetwork, type Unreached } from "./reach.ts";
import { proxyFailed } from "./errors.ts";

/** A running proxy. `close` ends all of its connections. */
export type EgressProxy = { close(): Promise<void> };

/*
 * The network access of a sandbox: an HTTP proxy on a Unix socket. It decides which targets a step may connect to, and
 * trusts nothing that a client sends.
 *
 * P1 A connection goes to an address that was checked, or to an entry of the policy.
 * P2 Each client connection carries one request, so later bytes are never parsed as another request.
 * P3 Headers and bodies are neither kept nor logged.
 * P4 Clients and targets can't crash this process, and can't make it use more memory than the buffers of `connections`
 *    connections.
 */

/** Maximum number of concurrent connections, and the idle timeout of a connection. */
export type EgressLimits = { connections: number; idleMs: number; startTimer: StartTimer };

/** Runs `act` after a timeout. `refresh` restarts the timeout. */
export type StartTimer = (act: () => void, ms: number) => Disposable & { refresh(): void };

/** The idle timeout is long because a model may compute for ten minutes before it answers. */
const usualLimits: EgressLimits = {
  connections: 256,
  idleMs: 30 * 60_000,
  startTimer: (act, ms) => setTimeout(act, ms),
};

const maxHeaderSize = 64 * 1024;
const lingerMs = 2000;

// sockaddr_un holds 104 bytes with the final zero on macOS, 108 on Linux: unix(4), unix(7).
const longestPath = process.platform === "darwin" ? 103 : 107;

/**
 * Starts a proxy on a Unix socket at `path`, which only this user can connect to. A longer path can be given as
 * `/proc/self/fd/N/name`, while descriptor N stays open until the proxy is closed. `onRefused` is called with the
 * `host:port` of each target that the policy refuses.
 *
 * @throws WorkflowError when the socket can't be made, or an entry of the policy is invalid
 */
export async function openEgressProxy(
  path: string,
  policy: EgressPolicy,
  onRefused: (target: string, reason: string) => void = () => {},
  parts: Partial<Network & EgressLimits> = {},
): Promise<EgressProxy> {
  const { connections, idleMs, startTimer, ...network } = {
    ...usualLimits,
    ...realNetwork,
    ...parts,
  };
  const reach = reachBy(policy, network);
  /** The connected clients, with the timers that end them. */
  const clients = new Map<Duplex, ReturnType<StartTimer>>();
  const targets = new Set<Socket>();
  /** The one request of each client. */
  const requests = new WeakMap<Duplex, IncomingMessage>();
  const server = createServer({ maxHeaderSize, requestTimeout: 0 });

  const admit = (client: Duplex): void => {
    client.on("error", () => client.destroy());
    if (clients.size >= connections) {
      client.end(answerOf(503, "too many connections"), () => client.destroy());
      return;
    }
    clients.set(
      client,
      startTimer(() => client.destroy(), idleMs),
    );
    client.once("close", () => {
      clients.get(client)?.[Symbol.dispose]();
      clients.delete(client);
    });
  };

  const connectFor = async (client: Duplex, to: Endpoint): Promise<Socket | Unreached> => {
    const gone = new AbortController();
    const leave = () => gone.abort();
    client.once("close", leave);
    const reached = await reach(to, gone.signal);
    client.off("close", leave);
    if (!(reached instanceof Socket)) {
      if (reached.reason !== undefined) onRefused(textOf(to), reached.reason);
      return reached;
    }
    targets.add(reached);
    reached.once("close", () => targets.delete(reached));
    if (client.destroyed) reached.destroy();
    return reached;
  };

  const tunnel = async (request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> => {
    const to = endpointOf(request.url ?? "");
    if (!to) return refuse(client, 400, "invalid target: expected host:port");
    const target = await connectFor(client, to);
    if (!(target instanceof Socket)) return refuse(client, target.status, target.problem);
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (head.length > 0) target.write(head);
    client.pipe(target).pipe(client);
    endTogether(client, target);
    endTogether(target, client);
    for (const side of [client, target]) side.on("data", () => clients.get(client)?.refresh());
  };

  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const client = request.socket;
    const { to, path: asked } = absoluteOf(request.url ?? "");
    if (!to) return reply(response, 400, "invalid target: expected http://host/path, or CONNECT");
    const coding = request.headers["transfer-encoding"];
    if (coding && coding.toLowerCase() !== "chunked") {
      return reply(response, 400, "unsupported transfer coding");
    }
    const target = await connectFor(client, to);
    if (!(target instanceof Socket)) return reply(response, target.status, target.problem);
    client.once("close", () => target.destroy());

    const fail = (problem: string) => {
      target.destroy();
      if (!response.headersSent) reply(response, 502, `${textOf(to)}: ${problem}`);
      else if (!response.writableEnded) client.destroy();
    };
    const outgoing = requestTo({
      createConnection: () => target,
      method: request.method,
      path: asked,
      headers: {
        Host: to.port === 80 ? textOf(to).replace(/:80$/, "") : textOf(to),
        ...endToEnd(request),
        ...(coding && { "Transfer-Encoding": "chunked" }),
        Connection: "close",
      },
      setHost: false,
      maxHeaderSize,
    });
    outgoing.on("error", (error) => fail(messageOf(error)));
    outgoing.on("upgrade", () => fail("unexpected protocol upgrade"));
    outgoing.on("response", (incoming) => {
      incoming.on("error", () => client.destroy());
      incoming.once("close", () => {
        if (!incoming.complete) client.destroy();
      });
      response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, {
        ...endToEnd(incoming),
        Connection: "close",
      });
      incoming.pipe(response);
      incoming.on("data", () => clients.get(client)?.refresh());
    });
    request.on("error", () => target.destroy());
    request.pipe(outgoing);
    request.on("data", () => clients.get(client)?.refresh());
  };

  server.on("connection", admit);
  server.on("connect", (request, client, head) => {
    if (requests.has(client)) return client.destroy();
    requests.set(client, request);
    tunnel(request, client, head).catch(() => client.destroy());
  });
  server.on("request", (request, response) => {
    const client = request.socket;
    if (requests.has(client)) return;
    requests.set(client, request);
    response.sendDate = false;
    response.shouldKeepAlive = false;
    forward(request, response).catch(() => client.destroy());
  });
  server.on("clientError", (_, client) => {
    const request = requests.get(client);
    if (!request) refuse(client, 400, "invalid request");
    // Bytes after a complete request are not read.
    else if (!request.complete) client.destroy();
  });
  await listen(server, path);

  let closed: Promise<void> | undefined;
  return {
    close() {
      closed ??= new Promise((done) => {
        server.close(() => done());
        for (const socket of [...clients.keys(), ...targets]) socket.destroy();
      });
      return closed;
    },
  };
}

async function listen(server: Server, path: string): Promise<void> {
  if (Buffer.byteLength(path) > longestPath)
    throw proxyFailed(path, `longer than ${longestPath} bytes`);
  await new Promise<void>((done, failed) => {
    server.once("error", (error) => failed(proxyFailed(path, messageOf(error), error)));
    server.once("listening", done);
    server.listen(path);
  });
  server.on("error", () => {});
  await chmod(path, 0o600).catch((error: unknown) => {
    server.close();
    throw proxyFailed(path, messageOf(error), error);
  });
}

/** Ends `other` once `one` is closed and its last bytes are forwarded. */
function endTogether(one: Duplex, other: Duplex): void {
  one.once("close", () => {
    if (!one.readableEnded || other.writableFinished) other.destroy();
    else other.once("finish", () => other.destroy());
  });
}

/** Returns the target and path of `http://host/path`, as written, without credentials. */
function absoluteOf(url: string): { to: Endpoint | null; path: string } {
  const [, authority = "", rest = ""] = /^http:\/\/([^/?#]*)([^#]*)/i.exec(url) ?? [];
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const to = endpointOf(host) ?? endpointOf(`${host.replace(/:$/, "")}:80`);
  return { to, path: rest.startsWith("/") ? rest : `/${rest}` };
}

/** Headers that are not forwarded: hop-by-hop headers, and the host and length, which the proxy sets itself. */
const ofConnection = new Set(
  `connection content-length expect host keep-alive proxy-authenticate proxy-authorization
  proxy-connection te trailer transfer-encoding upgrade`.split(/\s+/),
);

/** Returns the forwarded headers of a message, and its length. */
function endToEnd({ headers, rawHeaders }: IncomingMessage): OutgoingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const dropped = new Set([...ofConnection, ...named]);
  const kept = new Map<string, { name: string; values: string[] }>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    const key = name.toLowerCase();
    if (dropped.has(key)) continue;
    const known = kept.get(key);
    if (known) known.values.push(value);
    else kept.set(key, { name, values: [value] });
  }
  const length = headers["content-length"];
  if (length !== undefined)
    kept.set("content-length", { name: "Content-Length", values: [length] });
  const entries = [...kept.values()].map(({ name, values: [first = "", ...others] }) => [
    name,
    others.length > 0 ? [first, ...others] : first,
  ]);
  return Object.fromEntries(entries);
}

function answerOf(status: number, line: string): string {
  const body = `${line}\n`;
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}

/** Answers on a connection that is a tunnel, or whose request could not be read. */
function refuse(client: Duplex, status: number, line: string): void {
  if (!client.writable) {
    client.destroy();
    return;
  }
  client.end(answerOf(status, line));
  // Continue to read: a client that is still sending would lose the response if the connection were reset at once.
  client.resume();
  const linger = setTimeout(() => client.destroy(), lingerMs);
  client.once("close", () => clearTimeout(linger));
}

function reply(response: ServerResponse, status: number, line: string): void {
  response.req.resume();
  response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8", Connection: "close" });
  response.end(`${line}\n`);
}
