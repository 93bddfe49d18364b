import { afterAll, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { type RunningServer, startServer } from "../src/entry/index.ts";
import { request } from "./raw.ts";

/* Tests slow request bodies with short timeouts, so the server runs in this process. */
const folder = mkdtempSync(join(tmpdir(), "uw-slow-"));
const servers: RunningServer[] = [];

afterAll(async () => {
  for (const server of servers) await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

function serve(graceMs: number, bytesPerMs = 1): RunningServer {
  const host = openLocalHost({ path: folder });
  const options = { hostname: "127.0.0.1", port: 0, env: {}, cwd: folder, version: "test" };
  const server = startServer({ host, ...options, bodies: { graceMs, bytesPerMs } });
  servers.push(server);
  return server;
}

/** Sends a JSON body piece by piece. Returns the answer when the server has closed the connection. */
function sent(
  server: RunningServer,
  path: string,
  pieces: readonly string[],
  everyMs: number,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const headers = {
    Host: `127.0.0.1:${server.port}`,
    Authorization: `Bearer ${server.token}`,
    "Content-Type": "application/json",
    "Content-Length": String(length),
    Connection: "close",
  };
  let received = "";
  let next = 0;
  const socket = connect(server.port, "127.0.0.1", () =>
    socket.write(request(`POST ${path}`, headers)),
  );
  const timer = setInterval(() => {
    const piece = pieces[next];
    next += 1;
    if (piece === undefined) clearInterval(timer);
    else socket.write(piece);
  }, everyMs);
  socket.on("data", (bytes) => {
    received += bytes.toString();
  });
  socket.on("error", () => undefined);
  socket.on("close", () => {
    clearInterval(timer);
    resolve(received);
  });
  return promise;
}

test("a slow body is refused even with the token, and its connection is closed", async () => {
  const trickle = ['{"workflow":"', ...Array.from({ length: 2_000 }, () => "x"), '"}'];
  const server = serve(400);
  for (const path of ["/api/threads", "/workflow/run"]) {
    const answer = await sent(server, path, trickle, 50);
    expect(answer).toStartWith("HTTP/1.1 408 ");
    expect(answer).toContain("BODY_TOO_SLOW");
  }
});

test("a client that disconnects within its body causes no error in the log", async () => {
  const server = serve(60_000);
  const printed = spyOn(console, "error");
  const headers = {
    Host: `127.0.0.1:${server.port}`,
    Authorization: `Bearer ${server.token}`,
    "Content-Type": "application/json",
  };
  const lengths: Record<string, string>[] = [
    { "Content-Length": "100000" },
    { "Transfer-Encoding": "chunked" },
  ];
  for (const length of lengths) {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => undefined);
    const head = request("POST /api/threads", { ...headers, ...length });
    await new Promise((written) => socket.write(`${head}5\r\n{"a":\r\n`, written));
    socket.destroy();
  }
  // After these requests, the server has handled the broken requests.
  for (let n = 0; n < 20; n += 1) {
    const url = `http://127.0.0.1:${server.port}/api/server`;
    await (await fetch(url, { headers })).text();
  }
  expect(printed.mock.calls).toEqual([]);
  printed.mockRestore();
});

test("a large body at the required pace is accepted, however long it takes", async () => {
  const pieces = ['{"workflow":"', ...Array.from({ length: 30 }, () => "x".repeat(2_000)), '"}'];
  // All pieces together take longer than the grace period.
  const answer = await sent(serve(1_000, 0.01), "/api/threads", pieces, 50);
  expect(answer).toMatch(/^HTTP\/1.1 (400|404) /);
});
