import { createServer as createHttp } from "node:http";
import { createSocket } from "node:dgram";
import { type AddressInfo, createServer, type Server } from "node:net";
import { chmodSync } from "node:fs";
import { networkInterfaces } from "node:os";

/** The answer of the canaries, which no other server gives. */
export const canaryText = "canary-answer-7f3a";

/**
 * Servers of this machine that a step must not reach, and a model that it may reach. Records each request with its
 * content.
 */
export class Canaries {
  readonly hits: string[] = [];
  readonly #closers: (() => unknown)[] = [];
  port = 0;
  udp = 0;
  model = "";

  /** Listens on all addresses and on an abstract Unix socket, and starts the model. */
  async open(abstract: string): Promise<void> {
    const all = await this.#listen("TCP", { host: "::", port: 0 });
    this.port = (all.address() as AddressInfo).port;
    const udp = createSocket("udp4", (message) => void this.hits.push(`UDP ${message.toString()}`));
    await new Promise<void>((resolve) => udp.bind(0, "0.0.0.0", () => resolve()));
    this.udp = udp.address().port;
    this.#closers.push(() => udp.close());
    const hit = (): void => void this.hits.push("abstract socket");
    const listener = Bun.listen({ unix: `\0${abstract}`, socket: { open: hit, data: () => {} } });
    this.#closers.push(() => listener.stop(true));
    this.model = await this.#serveModel();
  }

  async openPath(path: string): Promise<void> {
    await this.#listen(path, { path });
    // A step of another user may connect too.
    chmodSync(path, 0o777);
  }

  async #listen(name: string, where: { host: string; port: number } | { path: string }) {
    const server: Server = createServer((socket) => {
      let sent = "";
      const note = (): unknown => (this.hits[at] = `${name} ${sent.slice(0, 80)}`);
      const at = this.hits.push(name) - 1;
      socket.on("error", () => undefined);
      socket.on("data", (part) => {
        sent += part.toString("latin1");
        note();
        socket.end(`HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n${canaryText}`);
      });
    });
    await new Promise<void>((resolve) => server.listen(where, () => resolve()));
    this.#closers.push(() => server.close());
    return server;
  }

  /** Serves any request, and redirects to a requested address. */
  async #serveModel(): Promise<string> {
    const server = createHttp((request, response) => {
      const to = new URL(request.url ?? "/", "http://model").searchParams.get("to");
      if (to === null) response.end("model");
      else response.writeHead(302, { location: to }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    this.#closers.push(() => server.close());
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const close of this.#closers.splice(0)) close();
  }
}

/** Returns the addresses of this machine besides loopback. */
export function ownAddresses(): { v4: string[]; v6: string[]; local: string[] } {
  const all = Object.entries(networkInterfaces()).flatMap(([name, list = []]) =>
    list.filter(({ internal }) => !internal).map((one) => ({ ...one, name })),
  );
  const v6 = all.filter(({ family }) => family === "IPv6");
  const isLocal = ({ address }: { address: string }) => address.startsWith("fe80");
  return {
    v4: all.filter(({ family }) => family === "IPv4").map(({ address }) => address),
    v6: v6.filter((one) => !isLocal(one)).map(({ address }) => address),
    local: v6.filter(isLocal).map(({ address, name }) => `${address}%${name}`),
  };
}
