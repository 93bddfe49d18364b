import {
  createServer,
  type IncomingMessage,
  request as send,
  type Server,
  type ServerResponse,
} from "node:http";

/** The faults of a proxy. Requests are numbered from 1. */
export type Faults = {
  /** Holds back each response until its end. */
  buffers?: boolean;
  /** Sends each request a second time after the first response, and forwards the second response. */
  doubles?: boolean;
  /** Cuts the connections of these requests after the server has answered, before the response is forwarded. */
  loses?: (request: number) => boolean;
  /** Cuts the responses of streams after this number of bytes. */
  cutsAfter?: (request: number) => number;
  /** Holds back each piece of a response for this time, in milliseconds. */
  delayMs?: number;
  /** Answers these requests itself. */
  answers?: (request: number, reply: ServerResponse) => boolean;
};

/** A proxy in front of a local server. It forwards HTTP requests with faults. */
export class Proxy {
  readonly #target: number;
  readonly #server: Server;
  faults: Faults = {};
  /** The number of requests so far, and their bodies. */
  requests = 0;
  readonly bodies: string[] = [];

  constructor(target: number) {
    this.#target = target;
    this.#server = createServer((request, reply) => void this.#handle(request, reply));
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("the proxy has no port");
    return `http://127.0.0.1:${address.port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    this.#server.closeAllConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    this.requests += 1;
    const number = this.requests;
    const { loses, cutsAfter, answers, doubles, buffers, delayMs } = this.faults;
    const body = await textOf(request);
    this.bodies.push(body);
    if (answers?.(number, reply)) return;
    try {
      if (doubles && !isStream(request)) await textOf(await this.#forward(request, body));
      const answer = await this.#forward(request, body);
      reply.on("close", () => answer.destroy());
      if (loses?.(number)) {
        await textOf(answer);
        return void request.socket.destroy();
      }
      const limit = (isStream(request) && cutsAfter?.(number)) || Number.POSITIVE_INFINITY;
      await pass(answer, reply, { limit, buffers, delayMs });
    } catch {
      request.socket.destroy();
    }
  }

  #forward({ method, url, headers }: IncomingMessage, body: string): Promise<IncomingMessage> {
    const host = `127.0.0.1:${this.#target}`;
    const { connection: _, "transfer-encoding": __, ...kept } = headers;
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: this.#target, path: url, method, agent: false };
      const forwarded = send({ ...options, headers: { ...kept, host } }, resolve);
      forwarded.on("error", reject);
      forwarded.end(body);
    });
  }
}

async function pass(
  answer: IncomingMessage,
  reply: ServerResponse,
  { limit, buffers, delayMs = 0 }: { limit: number; buffers?: boolean; delayMs?: number },
): Promise<void> {
  const { "content-length": length, "transfer-encoding": _, ...headers } = answer.headers;
  const held: Buffer[] = [];
  if (!buffers)
    reply.writeHead(answer.statusCode ?? 0, {
      ...headers,
      ...(length && { "content-length": length }),
    });
  let passed = 0;
  for await (const bytes of answer as AsyncIterable<Buffer>) {
    if (delayMs > 0) await Bun.sleep(delayMs);
    if (buffers) held.push(bytes);
    else reply.write(bytes.subarray(0, limit - passed));
    passed += bytes.length;
    if (passed >= limit) {
      answer.destroy();
      // A runtime drops bytes that arrive together with the end of a connection, so send the bytes first.
      await Bun.sleep(10);
      return void reply.socket?.end();
    }
  }
  if (buffers) reply.writeHead(answer.statusCode ?? 0, headers).write(Buffer.concat(held));
  reply.end();
}

const isStream = ({ url = "" }: IncomingMessage): boolean =>
  /\/(observe|log|changes|verify)$/.test(url);

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const bytes of message as AsyncIterable<Buffer>) chunks.push(bytes);
  return Buffer.concat(chunks).toString("utf8");
}
