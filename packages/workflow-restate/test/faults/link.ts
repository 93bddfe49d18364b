import { connect, createServer, type Server, type Socket } from "node:net";

/** Kind of network failure: connections are reset, or stay open without passing data. */
export type Cut = "reset" | "silent";

/** A connection between two programs that a test can cut. Forwards a loopback port to another port. */
export class Link {
  readonly #server: Server;
  readonly #target: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #cut: Cut | null = null;

  private constructor(target: number) {
    this.#target = target;
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

  cut(how: Cut): void {
    this.#cut = how;
    for (const pair of this.#pairs) {
      if (how === "reset") for (const socket of pair) socket.destroy();
      else for (const socket of pair) socket.unpipe().pause();
    }
  }

  /** Delivers delayed data, like a recovering network. */
  restore(): void {
    this.#cut = null;
    for (const [from, to] of this.#pairs) pipe(from, to);
  }

  async close(): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
    await closed;
  }

  #join(from: Socket): void {
    if (this.#cut === "reset") {
      from.destroy();
      return;
    }
    const to = connect({ port: this.#target, host: "127.0.0.1", noDelay: true });
    const pair = [from, to] as const;
    this.#pairs.add(pair);
    for (const [socket, other] of [pair, [to, from] as const]) {
      socket.on("error", () => socket.destroy());
      socket.once("close", () => {
        this.#pairs.delete(pair);
        other.destroy();
      });
    }
    if (this.#cut === null) pipe(from, to);
  }
}

function pipe(a: Socket, b: Socket): void {
  a.pipe(b);
  b.pipe(a);
  a.resume();
}
