import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { LiveAddress } from "../thread/thread.ts";
import { gainOf } from "../store/tail.ts";

const livePath = "/live";
const bearer = /^Bearer ([0-9a-f]{32})$/;

/**
 * Streams the debug logs of a worker's claims. A client authenticates with the claim's key, which is in the thread's
 * object: only readers of the object can read the stream.
 */
export class LiveClaims {
  readonly #claims = new Map<string, LiveClaim>();
  #url = "";

  /** Sets the address of this worker for clients: `host:port`. */
  advertise(address: string): void {
    this.#url = `http://${address}${livePath}`;
  }

  /** Opens the stream of a claim, before the worker makes the claim. */
  open(): LiveClaim {
    const key = randomBytes(16).toString("hex");
    const claim = new LiveClaim({ url: this.#url, key }, () => this.#claims.delete(key));
    this.#claims.set(key, claim);
    return claim;
  }

  /** Handles a stream request, `GET /live?from=<bytes>`; false for any other request. */
  answer(request: IncomingMessage, response: ServerResponse): boolean {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://worker");
    if (pathname !== livePath) return false;
    const [, key = ""] = bearer.exec(request.headers.authorization ?? "") ?? [];
    const from = searchParams.get("from") ?? "0";
    const claim = this.#claims.get(key);
    if (!claim || !/^\d{1,15}$/.test(from)) {
      response.writeHead(claim ? 400 : 401, { connection: "close" });
      response.end(claim ? "invalid position\n" : "missing or invalid key\n");
      return true;
    }
    void send(response, claim, Number(from));
    return true;
  }
}

async function send(response: ServerResponse, claim: LiveClaim, from: number): Promise<void> {
  const stop = new AbortController();
  response.once("close", () => {
    stop.abort();
    claim.wrote();
  });
  response.on("error", () => response.destroy());
  response.writeHead(200, {
    ...{ "content-type": "text/event-stream", "cache-control": "no-store" },
    "x-accel-buffering": "no",
  });
  response.flushHeaders();
  try {
    for await (const message of claim.messages(from, stop.signal)) {
      // Wait for slow readers. The file keeps unsent lines.
      if (!response.write(message)) await once(response, ["drain", "close"]);
    }
    response.end();
  } catch {
    response.destroy();
  }
}

function once(response: ServerResponse, names: string[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const name of names) response.once(name, () => resolve());
  return promise;
}

/** Stream of one claim: its debug log lines, and a message after each accepted append. */
export class LiveClaim {
  readonly address: LiveAddress;
  readonly #end: () => void;
  #path: string | null = null;
  #began = 0;
  #isOver = false;
  #appends = 0;
  #news = Promise.withResolvers<void>();

  constructor(address: LiveAddress, end: () => void) {
    this.address = address;
    this.#end = end;
  }

  /** Sets the path of the debug log. The first `bytes` are a copy from the cluster. */
  begin(path: string, bytes: number): void {
    this.#path = path;
    this.#began = bytes;
    this.wrote();
  }

  /** Notifies readers that the debug log has grown. */
  wrote(): void {
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers();
    resolve();
  }

  appended(): void {
    this.#appends += 1;
    this.wrote();
  }

  end(): void {
    this.#isOver = true;
    this.#end();
    this.wrote();
  }

  /** Yields the existing and future messages after a position. */
  async *messages(from: number, signal: AbortSignal): AsyncGenerator<string> {
    while (this.#path === null) {
      if (this.#isOver || signal.aborted) return;
      await this.#news.promise;
    }
    yield `event: claim\ndata: ${this.#began}\n\n`;
    let appends = this.#appends;
    for (let sent = from; !signal.aborted; ) {
      const [news, isOver, now] = [this.#news.promise, this.#isOver, this.#appends];
      const lines = gainOf({ path: this.#path, sent });
      if (lines.length > 0) {
        yield lineMessages(lines, sent);
        sent += lines.length;
        continue;
      }
      if (now !== appends) yield "event: append\ndata:\n\n";
      appends = now;
      if (isOver) return;
      await news;
    }
  }
}

/** Returns each line as a message. The message's id is the position after the line. */
function lineMessages(lines: Buffer, from: number): string {
  let text = "";
  for (let at = 0; at < lines.length; ) {
    const end = lines.indexOf("\n", at);
    text += `event: line\ndata: ${lines.toString("utf8", at, end)}\nid: ${from + end + 1}\n\n`;
    at = end + 1;
  }
  return text;
}
