import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { type RunningServer, startServer } from "../src/index.ts";
import { request } from "./raw.ts";

/* A pace that a test can wait for: the server runs in this process. */
let folder: string;
let server: RunningServer;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "uw-slow-"));
  const host = openLocalHost({ path: folder });
  const bodies = { graceMs: 400, bytesPerMs: 1 };
  const options = { hostname: "127.0.0.1", port: 0, env: {}, cwd: folder, version: "test" };
  server = startServer({ host, ...options, bodies });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Sends a body of JSON, a piece each time, and gives what was answered when the server has closed. */
function sent(path: string, pieces: readonly string[], everyMs: number): Promise<string> {
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

test("a body that trickles in is refused with the token too, and its connection closed", async () => {
  const trickle = ['{"workflow":"', ...Array.from({ length: 200 }, () => "x"), '"}'];
  for (const path of ["/api/threads", "/workflow/run"]) {
    const startedAt = performance.now();
    const answer = await sent(path, trickle, 50);
    expect(answer).toStartWith("HTTP/1.1 408 ");
    expect(answer).toContain("BODY_TOO_SLOW");
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  }
});

test("a large body that keeps up the pace is taken, however long it takes", async () => {
  const pieces = ['{"workflow":"', ...Array.from({ length: 30 }, () => "x".repeat(2_000)), '"}'];
  const startedAt = performance.now();
  expect(await sent("/api/threads", pieces, 30)).toMatch(/^HTTP\/1.1 (400|404) /);
  expect(performance.now() - startedAt).toBeGreaterThan(600);
});
