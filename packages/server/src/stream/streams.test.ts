import { afterEach, expect, test } from "bun:test";
import { connect } from "node:net";
import { Hono } from "hono";
import { until } from "../../../workflow/test/fixtures/until.ts";
import { request } from "../../test/raw.ts";
import { type Open, Streams } from "./streams.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Serves one stream at `/stream`, and another path. */
function serve(open: Open, most = 10) {
  const streams = new Streams({ most, heartbeatMs: 50 });
  const app = new Hono();
  app.get("/stream", (call) => streams.send(call, open));
  app.get("/other", (call) => call.text("here"));
  app.onError(({ message }) => new Response(message, { status: 500 }));
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: app.fetch });
  stops.push(() => server.stop(true));
  const get = (path: string) => fetch(new URL(path, server.url));
  return { get, port: server.port ?? 0, streams };
}

test("a client that stops reading gets all messages when it continues, and the server fetches no message meanwhile", async () => {
  const all = 2_000;
  const text = "x".repeat(100_000);
  let taken = 0;
  const { get, port } = serve(async function* () {
    for (; taken < all; taken += 1) yield { data: text, id: String(taken) };
  });
  const socket = connect(port, "127.0.0.1", () =>
    socket.write(request("GET /stream", { Host: `127.0.0.1:${port}`, Connection: "close" })),
  );
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  socket.once("data", (first: Buffer) => {
    socket.pause();
    resolve(first);
  });
  let bytes = (await promise).length;
  for (let n = 0; n < 100; n += 1) expect(await (await get("/other")).text()).toBe("here");
  // The buffers of the system are smaller than the 30 MB of 300 messages.
  expect(taken).toBeLessThan(300);
  for await (const part of socket) bytes += (part as Buffer).length;
  expect(taken).toBe(all);
  expect(bytes).toBeGreaterThan(all * text.length);
}, 60_000);

test("a silent stream sends comments, and its signal is aborted when the client leaves", async () => {
  let signal: AbortSignal | undefined;
  const { get } = serve(async function* (given) {
    signal = given;
    yield { data: "1" };
    await new Promise((resolve) => given.addEventListener("abort", resolve));
  }, 1);
  const { body } = await get("/stream");
  let text = "";
  for await (const bytes of body ?? []) {
    text += new TextDecoder().decode(bytes);
    if (text.endsWith(": still here\n\n: still here\n\n")) break;
  }
  expect(text).toStartWith("retry: 1000\n\ndata: 1\n\n: still");
  await until(() => signal?.aborted === true);
  await until(async () => (await get("/stream")).status === 200);
});

test("an error before the first message becomes the response, and frees the place of the stream", async () => {
  const { get } = serve(() => Promise.reject(new Error("no such thing")), 1);
  for (let n = 0; n < 2; n += 1) {
    const response = await get("/stream");
    expect([response.status, await response.text()]).toEqual([500, "no such thing"]);
  }
});

test("a later error ends the stream", async () => {
  const { get } = serve(async function* () {
    yield { data: "1" };
    throw new Error("the disk is gone");
  }, 1);
  for (let n = 0; n < 2; n += 1) {
    expect(await (await get("/stream")).text()).toBe("retry: 1000\n\ndata: 1\n\n");
  }
});

test("a stream with nothing to send has status 204, and closing ends all streams", async () => {
  const nothing = serve(() => null, 1);
  expect([(await nothing.get("/stream")).status, (await nothing.get("/stream")).status]).toEqual([
    204, 204,
  ]);
  const { get, streams } = serve(async function* (signal) {
    yield { data: "1" };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  const response = await get("/stream");
  streams.close();
  expect(await response.text()).toContain("data: 1");
});
