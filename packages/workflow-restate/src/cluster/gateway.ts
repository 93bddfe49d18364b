import { connectable } from "./socket.ts";
import { tokenCheck } from "./token.ts";

/*
 * The only access to the servers of a cluster on this machine. The servers listen on Unix sockets in a folder of their
 * user; a gateway on a loopback port forwards the requests that have the token.
 *
 * G1 A request without the token gets 401 and reaches no server, even after valid requests on the same connection.
 * G2 When a server refuses the connection, the request goes to another server. Nothing was sent yet.
 * G3 A request that reaches no server gets 502.
 */

export type Gateway = { port: number; close(): Promise<void> };

/** Error codes of a connection that was not established. */
const unconnected = new Set(["ENOENT", "ECONNREFUSED", "FailedToOpenSocket", "ConnectionRefused"]);

/** Hop-by-hop headers, and headers that the gateway sets. */
const ownHeaders = ["authorization", "connection", "host", "keep-alive", "transfer-encoding"];

/** Largest request body in bytes. The servers have a lower limit, so that their own refusal reaches the client. */
const largestBody = 64 * 1024 * 1024;

/** Starts a gateway in front of the Unix sockets of servers, on a loopback port; 0 picks a free port. */
export function startGateway(
  sockets: readonly string[],
  { port = 0, token }: { port?: number; token: string },
): Gateway {
  const servers = sockets.map(connectable);
  const isAllowed = tokenCheck(token);
  let turn = 0;
  const gateway = Bun.serve({
    hostname: "127.0.0.1",
    port,
    idleTimeout: 0,
    maxRequestBodySize: largestBody,
    development: false,
    fetch(request) {
      const given = request.headers.get("authorization");
      if (!isAllowed(given)) return refused(given);
      turn += 1;
      return pass(
        request,
        servers.map((_, index) => servers[(index + turn) % servers.length] ?? ""),
      );
    },
    error: () => unanswered(),
  });
  return { port: gateway.port ?? port, close: () => gateway.stop(true) };
}

function refused(given: string | null): Response {
  const message = given === null ? "missing token" : "invalid token";
  const headers = { "www-authenticate": "Bearer" };
  return Response.json({ message }, { status: 401, headers });
}

const unanswered = (): Response =>
  Response.json({ message: "no server of the cluster answers" }, { status: 502 });

async function pass(request: Request, servers: readonly string[]): Promise<Response> {
  const { method, signal } = request;
  const { pathname, search } = new URL(request.url);
  const headers = without(request.headers, ownHeaders);
  const body = request.body === null ? undefined : await request.bytes();
  const given = { method, headers, body, signal, redirect: "manual", keepalive: false } as const;
  for (const unix of servers) {
    try {
      const url = `http://restate${pathname}${search}`;
      const options = { ...given, unix, decompress: false, timeout: false };
      const response = await fetch(url, options);
      const { status, body: answer } = response;
      return new Response(answer, { status, headers: without(response.headers, ownHeaders) });
    } catch (error) {
      if (!unconnected.has(String((error as { code?: unknown }).code))) return unanswered();
    }
  }
  return unanswered();
}

function without(all: Headers, names: readonly string[]): Headers {
  const headers = new Headers(all);
  for (const name of names) headers.delete(name);
  return headers;
}
