import { afterAll, expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Health } from "../src/server/health.ts";
import { request, send } from "./raw.ts";
import { Serving, ServingProcess, ServingRoot, stopServing } from "./serving.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

afterAll(stopServing, 180_000);

const probe = async (port: number, path: string, Host = "10.1.2.3:9160") => {
  const { status, body } = await send(port, request(`GET ${path}`, { Host }));
  return `${status} ${body.trim()}`;
};

test("probes need no token and no known Host, and other paths still do", async () => {
  const serving = await Serving.start();
  for (const Host of ["10.1.2.3:9160", "evil.example", ""]) {
    expect(await probe(serving.port, "/healthz", Host)).toBe("200 ok");
    expect(await probe(serving.port, "/readyz", Host)).toBe("200 ok");
    expect(await probe(serving.port, "/readyz?x", Host)).toBe("200 ok");
  }
  for (const path of ["/readyz/", "/readyz/../api/server", "/api/readyz", "//readyz"])
    expect(await probe(serving.port, path)).toMatch(/^403 /);
  const posted = await send(serving.port, request("POST /readyz", { Host: "evil.example" }));
  expect(posted.status).toBe(403);
});

test("a server whose store can't be read or written answers /healthz, but is not ready", async () => {
  const serving = await ServingRoot.start();
  const run = join(serving.path, "run");
  renameSync(run, `${run}-aside`);
  writeFileSync(run, "");
  await until(async () => (await probe(serving.port, "/readyz")) === "503 store-unwritable");
  expect(await probe(serving.port, "/healthz")).toBe("200 ok");
  rmSync(run);
  renameSync(`${run}-aside`, run);
  await until(async () => (await probe(serving.port, "/readyz")) === "200 ok");
  renameSync(serving.path, `${serving.path}-aside`);
  await until(async () => (await probe(serving.port, "/readyz")) === "503 store-unreadable");
  renameSync(`${serving.path}-aside`, serving.path);
  await until(async () => (await probe(serving.port, "/readyz")) === "200 ok");
}, 180_000);

test("a server whose wake loop has stopped is not ready", async () => {
  const { host } = await Serving.start();
  const health = new Health(host, { stalledAfterMs: 0 });
  expect(await health.reason()).toBe("wake-loop-stalled");
});

/** Sends a request whose body is incomplete. Returns when the server handles it. */
async function halfRequest(serving: Serving) {
  const { port, token } = serving;
  const body = JSON.stringify({ workflow: "counter" });
  const headers = {
    Host: `127.0.0.1:${port}`,
    Authorization: `Bearer ${token}`,
    "Content-Type": "application/json",
    "Content-Length": String(body.length),
  };
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = "";
  socket.on("data", (bytes) => (received += bytes.toString()));
  socket.on("error", () => undefined);
  socket.on("close", () => resolve(received));
  socket.write(request("POST /api/threads", headers) + body.slice(0, 5));
  // The server reads its sockets in the order of their data.
  expect((await serving.fetch("/api/server")).status).toBe(200);
  return { finish: () => socket.write(body.slice(5)), answer: promise };
}

test("SIGTERM refuses new work, ends streams with a retry hint, and lets requests finish", async () => {
  const own = await ServingProcess.start("counter", "endless");
  const id = await own.run("endless", { delayMs: 50 });
  await own.until(id, "running", 1);
  const half = await halfRequest(own);
  const stream = await own.fetch(`/api/threads/${id}/events`);
  const told = stream.text();
  const { port } = own;
  const ended = own.stop("SIGTERM");
  expect(await told).toEndWith("retry: 2000\n\n");
  expect(await probe(port, "/readyz")).toBe("503 draining");
  expect(await probe(port, "/healthz")).toBe("200 ok");
  const refused = await fetch(`http://127.0.0.1:${port}/api/server`, {
    headers: { Authorization: `Bearer ${own.token}` },
  });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  half.finish();
  expect(await half.answer).toStartWith("HTTP/1.1 201 ");
  expect(await ended).toBe(0);
  await own.serve();
  await own.until(id, "running", 3);
}, 180_000);

test("a second SIGTERM ends the server at once", async () => {
  const own = await ServingProcess.start("counter");
  await halfRequest(own);
  const { port, pid } = own;
  const ended = own.stop("SIGTERM");
  await until(async () => (await probe(port, "/readyz")) === "503 draining");
  process.kill(pid, "SIGTERM");
  expect(await ended).not.toBe(0);
}, 180_000);
