import { fdatasyncSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { textOf } from "../../packages/workflow/src/log/record.ts";
import { dataPath } from "../../packages/workflow/src/storage/paths.ts";
import { type Built, bunArguments } from "../command.ts";
import { inTurn, now } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { makeStore, threadIdOf } from "../store.ts";

const messages = 40;
const many = 1000;
const echo = fileURLToPath(new URL("../baseline/echo-server.ts", import.meta.url));

/**
 * A step that is on the disk reaches who follows its thread by server-sent events, and what a thousand
 * who follow an idle thread weigh: beside a bare server that sends what the same file gains.
 */
export const server = (built: Built): Row => ({
  name: "server",
  async measure(folder) {
    const store = await makeStore(folder);
    const threadId = threadIdOf(1);
    const log = dataPath(store.root, store.hash, threadId);
    mkdirSync(dirname(log), { recursive: true, mode: 0o700 });
    const parameters = { prompt: "", options: { maxRounds: 1_000_000 } };
    const start = { name: "bench", hash: store.hash, threadId, parameters, timestamp: Date.now() };
    const fd = openSync(log, "a", 0o600);
    append(fd, textOf(start));
    const path = `/api/threads/${threadId}/events`;
    const ourCommand = [built.command, "serve", "--port", "0", "--json", "--root", store.root];
    const bareCommand = [process.execPath, ...bunArguments, echo, log];
    const ours = await open(ourCommand);
    const baseline = await open(bareCommand);
    try {
      const latency = await inTurn(
        9,
        () => delay(baseline, "/", fd),
        () => delay(ours, path, fd),
      );
      const weight = await inTurn(
        5,
        () => weigh(bareCommand, "/"),
        () => weigh(ourCommand, path),
      );
      const against = "a bare server on the same file";
      return [
        line(
          {
            what: "a committed step reaches a listener",
            unit: "ms",
            against,
            target: { most: 100 },
          },
          latency,
        ),
        line(
          {
            what: "memory of an idle listener, 1,000 of them",
            unit: "KB",
            against,
            target: { ratio: 2 },
          },
          weight,
        ),
      ];
    } finally {
      ours.stop();
      baseline.stop();
    }
  },
});

type Served = { port: number; token: string; pid: number; stop(): void };

async function open(command: string[]): Promise<Served> {
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const { value } = await child.stdout.getReader().read();
  const { port, token } = JSON.parse(new TextDecoder().decode(value)) as Served;
  return { port, token, pid: child.pid, stop: () => child.kill() };
}

function append(fd: number, text: string): void {
  writeSync(fd, `${text}\n`);
  fdatasyncSync(fd);
}

/** Follows a thread, or the bare server's file, and gives each piece that comes. */
function listen({ port, token }: Served, path: string, onData: (text: string) => void): Socket {
  const socket = connect(port, "127.0.0.1", () =>
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    ),
  );
  return socket.on("data", (bytes) => onData(bytes.toString("latin1")));
}

/** How long a step takes to come, from when it is on the disk: the median of some, in milliseconds. */
async function delay(served: Served, path: string, fd: number): Promise<number> {
  const times: number[] = [];
  let wanted = "";
  let come = Promise.withResolvers<void>();
  const socket = listen(served, path, (text) => {
    if (wanted !== "" && text.includes(wanted)) come.resolve();
  });
  await Bun.sleep(700);
  for (let n = 0; n < messages; n += 1) {
    wanted = crypto.randomUUID();
    come = Promise.withResolvers<void>();
    append(fd, textOf({ role: "r", content: wanted, meta: {}, timestamp: Date.now() }));
    const began = now();
    await come.promise;
    times.push(now() - began);
    await Bun.sleep(20);
  }
  socket.destroy();
  return times.toSorted((a, b) => a - b)[messages / 2] ?? Number.NaN;
}

/** What one of many idle listeners weighs in a new server, in KB. */
async function weigh(command: string[], path: string): Promise<number> {
  const served = await open(command);
  const [first] = await listeners(served, path, 1);
  const before = residentKb(served.pid);
  const sockets = await listeners(served, path, many);
  await Bun.sleep(2000);
  const grown = (residentKb(served.pid) - before) / many;
  for (const socket of [first, ...sockets]) socket?.destroy();
  served.stop();
  return grown;
}

/** So many listeners, each of which has been sent something. */
async function listeners(served: Served, path: string, count: number): Promise<Socket[]> {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const socket = listen(served, path, () => resolve());
      await promise;
      return socket;
    }),
  );
}

const residentKb = (pid: number): number =>
  (Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096) / 1024;
