// @alone: it measures the memory of a server with 30 MB for each of eight clients.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { until } from "../../../packages/workflow/test/fixtures/until.ts";
import { request } from "./raw.ts";
import { Serving, stopServing } from "./serving.ts";

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start("talker");
});
afterAll(stopServing, 180_000);

test("a reader that stops reading costs no memory, and gets the rest when it goes on", async () => {
  const id = await serving.run("talker", { count: 60, size: 500_000 });
  await serving.until(id, "completed");
  const before = memoryOf(serving.pid);
  const sockets = await Promise.all(
    Array.from({ length: 8 }, () => stalled(`/api/threads/${id}/events`)),
  );
  // What is kept for readers that stand still stays; what is only not collected yet goes.
  await until(() => memoryOf(serving.pid) - before < 150);
  expect((await serving.fetch("/api/server")).status).toBe(200);
  const rest = await Promise.all(sockets.map(readOn));
  for (const text of rest) expect(text).toContain("event: end");
}, 180_000);

/** A connection whose reader has stopped after the first bytes. */
function stalled(path: string) {
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof connect>>();
  const socket = connect(serving.port, "127.0.0.1", () => {
    const headers = {
      Host: `127.0.0.1:${serving.port}`,
      Authorization: `Bearer ${serving.token}`,
      Connection: "close",
    };
    socket.write(request(`GET ${path}`, headers));
  });
  socket.once("data", () => {
    socket.pause();
    resolve(socket);
  });
  return promise;
}

function readOn(socket: ReturnType<typeof connect>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  socket.on("data", (bytes) => {
    text = (text + bytes.toString("latin1")).slice(-2000);
    if (text.includes("event: end")) socket.destroy();
  });
  socket.on("close", () => resolve(text));
  socket.on("error", () => resolve(text));
  socket.resume();
  return promise;
}

/** The memory that a process holds, in MB. */
function memoryOf(pid: number): number {
  const { stdout } = Bun.spawnSync(["ps", "-o", "rss=", "-p", String(pid)]);
  return Number(stdout.toString()) / 1024;
}
