import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * A network failure. `reset`: connections are closed, and new ones too. `silent`: connections stay open and pass
 * nothing until the end of the failure. `slow`: data arrives late. `lost`: the server's ends of all connections are
 * closed without notice to the clients, even after the failure; new connections work.
 */
export const cuts = ["reset", "silent", "slow", "lost"] as const;
export type Cut = (typeof cuts)[number];

/** A loopback port that forwards connections to another port. A test can make the connections fail. */
export class Link {
  /** The port to which new connections go. */
  target: number;
  readonly #server: Server;
  readonly #pairs = new Set<readonly [client: Socket, server: Socket]>();
  readonly #lost = new Set<Socket>();
  #cut: Cut | null = null;
  #delayMs = 0;

  private constructor(target: number) {
    this.target = target;
    this.#server = createServer({ noDelay: true, pauseOnConnect: true }, (from) =>
      this.#join(from),
    );
  }

  static async to(target: number): Promise<Link> {
    const link = new Link(target);
    await new Promise<void>((done) => link.#server.listen({ port: 0, host: "127.0.0.1" }, done));
    return link;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address ? address.port : 0;
  }

  cut(how: Cut, delayMs = 0): void {
    this.#cut = how;
    this.#delayMs = how === "slow" ? delayMs : 0;
    for (const [client, server] of this.#pairs) {
      if (how === "reset") client.destroy();
      if (how === "silent") for (const socket of [client, server]) socket.pause();
      if (how === "lost") {
        this.#lost.add(client);
        server.destroy();
      }
    }
  }

  /** Delivers delayed data, like a network that recovers. */
  restore(): void {
    this.#cut = null;
    this.#delayMs = 0;
    for (const pair of this.#pairs) for (const socket of pair) socket.resume();
  }

  async close(): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
    for (const socket of this.#lost) socket.destroy();
    await closed;
  }

  #join(client: Socket): void {
    if (this.#cut === "reset") {
      client.destroy();
      return;
    }
    const server = connect({ port: this.target, host: "127.0.0.1", noDelay: true });
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    for (const [from, to] of [pair, [server, client] as const]) {
      from.on("error", () => from.destroy());
      from.once("close", () => {
        this.#pairs.delete(pair);
        if (!this.#lost.has(to)) to.destroy();
      });
      from.on("data", (bytes: Buffer) => {
        const send = () => to.destroyed || to.write(bytes);
        if (this.#delayMs === 0) send();
        else setTimeout(send, this.#delayMs);
      });
    }
    if (this.#cut === "silent") for (const socket of pair) socket.pause();
    else client.resume();
  }
}
