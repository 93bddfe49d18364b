import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Collector } from "../../otel/test/collector.ts";
import { traceOf } from "../../otel/test/observed.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ended, playStore, removeFolders, type Store } from "./program.ts";

setDefaultTimeout(180_000);
afterAll(removeFolders);

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

async function serve(store: Store, collector: Collector) {
  const child = store.start(["serve", "--port", "0", "--no-plans"], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: "20" },
  });
  const file = join(store.root, "run/server.json");
  const server = () =>
    JSON.parse(readFileSync(file, "utf8")) as { url: string; token: string; pid: number };
  await until(() => existsSync(file) && server().pid === child.pid);
  return { child, ...server() };
}

test("serve continues the caller's trace of a thread, even after kill -9", async () => {
  const store = await playStore();
  const collector = await Collector.start();
  const first = await serve(store, collector);
  const progress = join(store.root, "telemetry.jsonl");
  await until(() => existsSync(progress));
  const ask = async (path: string, body: object) => {
    const reply = await fetch(`${first.url}${path}`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${first.token}`,
        "Content-Type": "application/json",
        traceparent,
      },
      body: JSON.stringify(body),
    });
    return (await reply.json()) as { threadId: string; hash: string };
  };
  const asked = await ask("/api/threads", { workflow: "play" });
  await store.until(asked.threadId, "completed");
  await traceOf(collector, asked, traceId);
  const env = { TRACEPARENT: traceparent };
  const forked = { threadId: await store.ok(["fork", asked.threadId], { env }), hash: "" };
  await store.until(forked.threadId, "completed");
  await traceOf(collector, forked, traceId);
  // A kill between the collector's response and this record would repeat the spans.
  const noted = () => readFileSync(progress, "utf8").split("\n");
  await until(() => noted().some((line) => line.includes(forked.threadId) && /ended/.test(line)));
  first.child.kill("SIGKILL");
  await first.child.exited;
  const threadId = await store.ok(["run", "play"], { env });
  await store.until(threadId, "completed");
  const second = await serve(store, collector);
  await traceOf(collector, { threadId, hash: "" }, traceId);
  second.child.kill("SIGTERM");
  expect((await ended(second.child)).code).toBe(0);
  const ids = collector.spans.map(({ spanId }) => spanId);
  expect(new Set(ids).size).toBe(ids.length);
  expect((await store.run(["verify"])).stdout).not.toContain("telemetry");
  await collector.stop();
});

test("an endpoint that hangs does not block the exit of serve", async () => {
  const store = await playStore();
  const collector = await Collector.start();
  collector.fault = () => true;
  const { child } = await serve(store, collector);
  await store.until(await store.play(), "completed");
  await until(() => collector.requests > 0);
  child.kill("SIGTERM");
  expect((await ended(child)).code).toBe(0);
  await collector.stop();
});
