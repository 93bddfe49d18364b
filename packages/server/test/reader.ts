import { connect } from "node:net";
import type { RunningServer } from "../src/entry/index.ts";
import { request } from "./raw.ts";

/** A reader of a stream with its own connection, because `fetch` limits the number of open connections. */
export class Reader {
  readonly #socket: ReturnType<typeof connect>;
  #text = "";
  /** Received bytes of an incomplete chunk. */
  #raw = "";
  #wanted: { part: string; resolve: () => void } | null = null;

  constructor({ port, token }: RunningServer, path: string, headers: Record<string, string> = {}) {
    const all = { Host: `127.0.0.1:${port}`, Authorization: `Bearer ${token}`, ...headers };
    this.#socket = connect(port, "127.0.0.1", () => {
      this.#socket.write(request(`GET ${path}`, all));
    });
    this.#socket.on("data", (bytes) => {
      const before = this.#text.length;
      this.#raw += bytes.toString("latin1");
      this.#takeChunks();
      const { part, resolve } = this.#wanted ?? { part: "", resolve: () => undefined };
      if (this.#text.includes(part, before - part.length)) resolve();
    });
  }

  get text(): string {
    return this.#text;
  }

  /** Decodes the chunked transfer. Chunk boundaries have no meaning. */
  #takeChunks(): void {
    if (this.#text === "") {
      const end = this.#raw.indexOf("\r\n\r\n") + 4;
      if (end < 4) return;
      this.#text = this.#raw.slice(0, end);
      this.#raw = this.#raw.slice(end);
    }
    for (;;) {
      const [head = "", size = ""] = /^([0-9a-f]+)\r\n/i.exec(this.#raw) ?? [];
      const end = head.length + Number.parseInt(size, 16);
      if (head === "" || this.#raw.length < end + 2) return;
      this.#text += this.#raw.slice(head.length, end);
      this.#raw = this.#raw.slice(end + 2);
    }
  }

  /** Waits until it has received a text. */
  async sees(part: string): Promise<void> {
    if (this.#text.includes(part)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wanted = { part, resolve };
    await promise;
  }

  /** Stops or continues reading. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }
}
