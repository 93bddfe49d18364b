import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { type RunningServer, type ServerOptions, startServer } from "../src/entry/index.ts";
import { request } from "./raw.ts";
import { Reader } from "./reader.ts";
import { eventsOf } from "./sse.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

/*
 * The real limits are too long for a test, so the server runs in this process with shorter limits. The test itself
 * writes the log.
 */
const hash = "EYHPV6X8XHTCS";
const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const path = `/api/threads/${threadId}/events`;
const stepOf = (content: string) =>
  `${JSON.stringify({ role: "r", content, meta: {}, timestamp: 2 })}\n`;

let folder: string;
let log: string;
let server: RunningServer;

function serve(streams: ServerOptions["streams"]): void {
  const host = openLocalHost({ path: folder });
  server = startServer({
    ...{ host, hostname: "127.0.0.1", port: 0, env: {}, cwd: folder, version: "test" },
    streams,
  });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uw-streams-"));
  mkdirSync(join(folder, "logs", hash), { recursive: true });
  log = join(folder, "logs", hash, `${threadId}.data.jsonl`);
  const parameters = { prompt: "", options: { maxRounds: 100 } };
  const start = { name: "test", hash, threadId, parameters, timestamp: 1 };
  writeFileSync(log, `${JSON.stringify(start)}\n`, { mode: 0o600 });
});

afterEach(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const headers = () => ({ Authorization: `Bearer ${server.token}` });
const open = () => fetch(`http://127.0.0.1:${server.port}${path}`, { headers: headers() });

test("a reader that stops reading for long is disconnected, and reconnects at the same position", async () => {
  serve({ most: 1, patienceMs: 300 });
  for (let n = 0; n < 40; n += 1) appendFileSync(log, stepOf("x".repeat(500_000)));
  const socket = connect(server.port, "127.0.0.1", () => {
    const host = { Host: `127.0.0.1:${server.port}` };
    socket.write(request(`GET ${path}`, { ...host, ...headers() }));
  });
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  let received = "";
  socket.once("data", () => {
    socket.pause();
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
    });
    socket.pause();
    // Only one stream may be open, so the server accepts another stream after it has closed the stalled stream.
    void until(async () => {
      const other = await open();
      await other.body?.cancel();
      return other.status === 200;
    }).then(() => socket.resume());
  });
  socket.on("close", () => resolve(received));
  socket.on("error", () => resolve(received));
  const text = await closed;
  const last = [...text.matchAll(/^id: (\S+)\n(?=data: .*\n\n)/gm)].at(-1)?.[1] ?? "";
  expect(text.length).toBeLessThan(15_000_000);
  const rest = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    headers: { ...headers(), "Last-Event-ID": last },
  });
  for await (const { name, data } of eventsOf(rest)) {
    if (name === "step" && data.number === 40) break;
  }
}, 180_000);

test("a silent stream sends comments, and later messages", async () => {
  serve({ most: 10, patienceMs: 60_000, heartbeatMs: 100 });
  const reader = new Reader(server, path);
  await reader.sees(": still here\n\n: still here\n\n");
  appendFileSync(log, stepOf("news"));
  await reader.sees('"news"');
  await reader.sees("}\n\n: still here\n\n");
  reader.close();
}, 180_000);

test("the number of open streams is limited, and closing a stream allows another", async () => {
  serve({ most: 3, patienceMs: 60_000 });
  const three = [await open(), await open(), await open()];
  expect(three.map(({ status }) => status)).toEqual([200, 200, 200]);
  const fourth = await open();
  expect(fourth.status).toBe(429);
  expect(await fourth.json()).toMatchObject({ error: { code: "TOO_MANY_STREAMS" } });
  await three[0]?.body?.cancel();
  let status = 429;
  await until(async () => (status = (await open()).status) !== 429);
  expect(status).toBe(200);
});

test("a log truncated while it is followed ends the stream, but not the server", async () => {
  serve({ most: 10, patienceMs: 60_000 });
  appendFileSync(log, stepOf("one"));
  const response = await open();
  const seen: string[] = [];
  for await (const { name } of eventsOf(response)) {
    seen.push(name);
    if (name === "step") truncateSync(log, 10);
  }
  expect(seen).toContain("step");
  expect(seen).not.toContain("end");
  const again = await fetch(`http://127.0.0.1:${server.port}${path}?from=d999.i0`, {
    headers: headers(),
  });
  expect(again.status).toBe(400);
});

test("a server without plans stops while requests about plans are open", async () => {
  serve({ most: 10, patienceMs: 60_000 });
  const get = (of: string) =>
    fetch(`http://127.0.0.1:${server.port}/api/${of}`, { headers: headers() });
  const [list, events] = await Promise.all([get("plans"), get("plans/events")]);
  expect([list.status, events.status]).toEqual([404, 404]);
  const watching = await get("events?plans=");
  const left = get("plans").catch(() => null);
  // The test runner fails a test that leaves an unhandled rejection.
  await server.stop();
  await Promise.all([left, watching.text().catch(() => null)]);
});
