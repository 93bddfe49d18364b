import {
  type HandleRequestOptions,
  isInitializeRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport as Transport,
} from "@modelcontextprotocol/server";

const mostSessions = 100;

/**
 * The sessions that clients open by `initialize` (protocol versions before 2026-07-28). A session keeps the client's
 * name, and lets the client cancel a call by a second request. The least recently used session ends when there are too
 * many; the client of that session is then served without a session, as after a restart of the server.
 */
export class Sessions {
  /** The open sessions by id, with the least recently used session first. */
  readonly #open = new Map<string, Transport>();
  readonly #make: () => McpServer;

  constructor(make: () => McpServer) {
    this.#make = make;
  }

  /** Serves a request of a session or an `initialize` request; null for any other. */
  async fetch(request: Request, options: HandleRequestOptions = {}): Promise<Response | null> {
    const { method, headers, signal } = request;
    const session = this.#used(headers.get("mcp-session-id"));
    if (method === "DELETE") return session?.handleRequest(request, options) ?? null;
    if (method !== "POST") return null;
    const body = await bodyOf(request);
    const transport = session ?? (isInitializeRequest(body) ? await this.#begin() : null);
    if (!transport) return null;
    // A client that disconnects can't read the result.
    const leave = () => cancel(transport, body);
    signal.addEventListener("abort", leave, { once: true });
    return await transport.handleRequest(request, { ...options, parsedBody: body });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((session) => session.close()));
  }

  #used(id: string | null): Transport | null {
    const session = id === null ? undefined : this.#open.get(id);
    if (id === null || !session) return null;
    this.#open.delete(id);
    this.#open.set(id, session);
    return session;
  }

  async #begin(): Promise<Transport> {
    const transport = new Transport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => this.#keep(id, transport),
      onsessionclosed: (id) => void this.#open.delete(id),
    });
    await this.#make().connect(transport);
    return transport;
  }

  async #keep(id: string, transport: Transport): Promise<void> {
    this.#open.set(id, transport);
    const [oldest] = this.#open.size > mostSessions ? this.#open : [];
    if (!oldest) return;
    this.#open.delete(oldest[0]);
    await oldest[1].close();
  }
}

/** Returns the JSON of a request's body; undefined for invalid JSON, which the next handler reports. */
const bodyOf = (request: Request): Promise<unknown> =>
  request
    .clone()
    .json()
    .catch(() => undefined);

function cancel(transport: Transport, body: unknown): void {
  for (const message of [body].flat()) {
    const { id } = Object(message) as { id?: unknown };
    if (typeof id !== "string" && typeof id !== "number") continue;
    const params = { requestId: id, reason: "disconnected" };
    transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  }
}
