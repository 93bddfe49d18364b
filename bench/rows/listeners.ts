import { fdatasyncSync, mkdirSync, openSync, writeSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { textOf } from "../../packages/workflow/src/record/record.ts";
import { dataPath } from "../../packages/workflow/src/disk/paths.ts";
import { inTurn, now, sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { type Served, serve, serveRoot } from "../serve.ts";
import { makeStore, threadIdOf } from "../store.ts";

const messages = 20;
const many = 100;
const echo = fileURLToPath(new URL("../baseline/echo-server.ts", import.meta.url));

/**
 * Time from the sync of a step until each of 100 clients that follow its thread by server-sent events has it. The
 * floor is a server that sends each line appended to a file to each client.
 */
export const listeners: Row = {
  name: "listeners",
  async measure({ folder, command }) {
    const store = await makeStore(folder);
    const threadId = threadIdOf(1);
    const log = dataPath(store.root, store.hash, threadId);
    mkdirSync(dirname(log), { recursive: true, mode: 0o700 });
    const parameters = { prompt: "", options: { maxRounds: 1_000_000 } };
    const start = { name: "bench", hash: store.hash, threadId, parameters, timestamp: Date.now() };
    const fd = openSync(log, "a", 0o600);
    append(fd, textOf(start));
    const ours = await serveRoot(await command(), store.root);
    const bare = await serve([process.execPath, echo, log]);
    try {
      const samples = await inTurn(
        7,
        () => delay(bare, "/", fd),
        () => delay(ours, `/api/threads/${threadId}/events`, fd),
      );
      const texts = { what: "a step reaches 100 clients", unit: "ms" };
      const floorIs = "a bare server on the file";
      return [line({ ...texts, floorIs, target: { most: 100 } }, samples)];
    } finally {
      ours.stop();
      bare.stop();
    }
  },
};

function append(fd: number, text: string): void {
  writeSync(fd, `${text}\n`);
  fdatasyncSync(fd);
}

/** A client of a stream. */
class Client {
  readonly #socket: Socket;
  #wanted = { text: "", come: () => {} };
  #seen = "";

  constructor({ port, token }: Served, path: string) {
    const host = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}`;
    this.#socket = connect(port, "127.0.0.1", () =>
      this.#socket.write(`GET ${path} HTTP/1.1\r\n${host}\r\n\r\n`),
    );
    this.#socket.on("data", (bytes) => {
      this.#seen += bytes.toString("latin1");
      if (this.#seen.includes(this.#wanted.text)) this.#wanted.come();
    });
  }

  /** Resolves when a text has arrived since the last call. */
  sees(text: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#seen = "";
    this.#wanted = { text, come: resolve };
    return promise;
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Returns the median time until a synced step has reached all clients, in milliseconds. */
async function delay(served: Served, path: string, fd: number): Promise<number> {
  const clients = Array.from({ length: many }, () => new Client(served, path));
  await Promise.all(clients.map((client) => client.sees("text/event-stream")));
  // The streams first send the steps of earlier readings.
  await Bun.sleep(700);
  const readings: number[] = [];
  for (let n = 0; n < messages; n += 1) {
    const content = crypto.randomUUID();
    const all = Promise.all(clients.map((client) => client.sees(content)));
    append(fd, textOf({ role: "r", content, meta: {}, timestamp: Date.now() }));
    const began = now();
    await all;
    readings.push(now() - began);
    await Bun.sleep(20);
  }
  for (const client of clients) client.close();
  return sampleOf(readings).median;
}
