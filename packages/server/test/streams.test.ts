import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
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
import { graphOf, start as startNode } from "./graph-client.ts";
import { eventsOf, type Sent } from "./sse.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

/* The server runs in this process. The test itself writes the log. */
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

test("a reader that stops reading for a long time is disconnected, and can reconnect at the same position", async () => {
  serve({ most: 1, patienceS: 1 });
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
  serve({ heartbeatMs: 100 });
  const reader = new Reader(server, path);
  await reader.sees(": still here\n\n: still here\n\n");
  appendFileSync(log, stepOf("news"));
  await reader.sees('"news"');
  await reader.sees("}\n\n: still here\n\n");
  reader.close();
}, 180_000);

test("the number of open streams is limited, and closing a stream allows another", async () => {
  serve({});
  const first: Response[] = [];
  while (first.length < 200) first.push(await open());
  expect(new Set(first.map(({ status }) => status))).toEqual(new Set([200]));
  const refused = await open();
  expect([refused.status, refused.headers.get("Retry-After")]).toEqual([503, "5"]);
  expect(await refused.json()).toMatchObject({ error: { code: "TOO_MANY_STREAMS" } });
  await first[0]?.body?.cancel();
  await until(async () => {
    const next = await open();
    first.push(next);
    return next.status === 200;
  });
  await Promise.all(first.slice(1).map(async ({ body }) => await body?.cancel()));
});

test("a refused stream starts no run", async () => {
  serve({ most: 0 });
  const send = async (graph: object) =>
    await fetch(`http://127.0.0.1:${server.port}/api/run-stream`, {
      ...{ method: "POST", body: JSON.stringify({ graph }) },
      headers: { ...headers(), "Content-Type": "application/json" },
    });
  const { status, headers: given } = await send(graphOf([startNode("tea")], ""));
  expect([status, given.get("Retry-After")]).toEqual([503, "5"]);
  expect(readdirSync(join(folder, "logs"))).toEqual([hash]);
});

test("a client continues in the middle of a log after a restart of the server", async () => {
  serve({});
  for (let n = 1; n <= 6; n += 1) appendFileSync(log, stepOf(String(n)));
  const read = async (from: string | undefined, upTo: number) => {
    const given = { ...headers(), ...(from !== undefined && { "Last-Event-ID": from }) };
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: given });
    const steps: Sent[] = [];
    for await (const sent of eventsOf(response)) {
      if (sent.name === "step") steps.push(sent);
      if (sent.data.number === upTo) return steps;
    }
    throw new Error("the stream ended");
  };
  const before = await read(undefined, 3);
  await server.stop();
  serve({});
  appendFileSync(log, stepOf("7"));
  const after = await read(before.at(-1)?.id ?? "", 7);
  const numbers = [...before, ...after].map(({ data }) => data.number);
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test("a log truncated while it is followed ends the stream, but not the server", async () => {
  serve({});
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
  serve({});
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
