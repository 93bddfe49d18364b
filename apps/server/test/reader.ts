import { connect } from "node:net";
import type { RunningServer } from "../src/index.ts";
import { request } from "./raw.ts";

/** A reader of a stream with a connection of its own: `fetch` opens only so many at once. */
export class Reader {
  readonly #socket: ReturnType<typeof connect>;
  #text = "";
  #wanted: { part: string; resolve: () => void } | null = null;

  constructor({ port, token }: RunningServer, path: string, headers: Record<string, string> = {}) {
    const all = { Host: `127.0.0.1:${port}`, Authorization: `Bearer ${token}`, ...headers };
    this.#socket = connect(port, "127.0.0.1", () => {
      this.#socket.write(request(`GET ${path}`, all));
    });
    this.#socket.on("data", (bytes) => {
      const before = this.#text.length;
      this.#text += bytes.toString("latin1");
      const { part, resolve } = this.#wanted ?? { part: "", resolve: () => undefined };
      if (this.#text.includes(part, before - part.length)) resolve();
    });
  }

  /** What it was sent, as it came. */
  get text(): string {
    return this.#text;
  }

  /** Waits until it was sent something. */
  async sees(part: string): Promise<void> {
    if (this.#text.includes(part)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wanted = { part, resolve };
    await promise;
  }

  /** Takes nothing from here on, or again. */
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
