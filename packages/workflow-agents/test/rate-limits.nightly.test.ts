import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost, settled, type ThreadRef } from "@uncaged/workflow/host";
import { bundlePath, isSharedFile, namesIn, runDir } from "../../workflow/src/disk/paths.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { expectCounted } from "./counted.ts";
import { limitedServer } from "./limited/server.ts";

/* Tests threads of several versions, and so of several processes, which share a provider's rate limit. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-limits-"));
const host = openLocalHost({ path: join(folder, "root") });
const root = openRoot({ path: join(folder, "root") });

const versions = 5;
beforeAll(async () => {
  const { hash } = await host.register("version-0", join(import.meta.dir, "limited/limited.ts"));
  const text = readFileSync(bundlePath(root, hash), "utf8");
  for (let n = 1; n < versions; n += 1) {
    const file = join(folder, `version-${n}.esm.js`);
    writeFileSync(file, text.replaceAll("version-0", `version-${n}`));
    await host.register(`version-${n}`, file);
  }
}, 180_000);
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(async () => {
  await signalWorkers(root, "SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

type Provider = "claude" | "gpt";

async function serve(provider: Provider) {
  const server = await limitedServer(provider);
  stops.push(server.stop);
  return server;
}

const envOf = ({ url, key }: { url: string; key: string }) => ({
  PATH: process.env.PATH ?? "",
  ...{ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url },
  ...{ OPENAI_API_KEY: key, OPENAI_BASE_URL: url },
});

type Server = Awaited<ReturnType<typeof serve>>;

/** Starts threads of `of` alternating versions. Each prompt has the thread's number, counted from `first`. */
const begin = (provider: Provider, server: Server, count: number, of: number, first = 0) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      host.start({
        workflow: `version-${n % of}`,
        prompt: `${provider} thread ${first + n}`,
        env: envOf(server),
        cwd: folder,
      }),
    ),
  );

const notCompleted = async (threads: readonly ThreadRef[]) => {
  const ends = await Promise.all(threads.map((ref) => settled(host, ref)));
  return ends.filter(({ status }) => status !== "completed");
};

describe.each(["claude", "gpt"] as const)("50 threads of 5 processes that call %s", (provider) => {
  test("complete, and report their waits", async () => {
    const server = await serve(provider);
    const threads = await begin(provider, server, 50, versions);
    expect(await notCompleted(threads)).toEqual([]);
    expect(server.served).toHaveLength(150);
    const last = await host.attempts(threads.at(-1) as ThreadRef);
    const waits = last.flatMap(({ notes }) => notes.filter(({ type }) => type === "llm_wait"));
    // The last thread may also have other waits if it started before the first answer reported the limits.
    expect(waits.map(({ payload }) => payload)).toContainEqual({
      delay_ms: expect.any(Number),
      reason: `${provider === "claude" ? "Anthropic" : "the OpenAI API"} limits requests`,
    });
    expect(buckets().length).toBeGreaterThan(0);
    for (const name of buckets()) {
      expect(readFileSync(join(runDir(root), name), "utf8")).not.toContain(server.key);
    }
    expect((await host.verify()).problems).toEqual([]);
    await expectCounted(host, threads, [server]);
  }, 180_000);
});

const buckets = () => namesIn(runDir(root)).filter(isSharedFile);

test("waiting calls of a killed worker neither delay other calls nor count", async () => {
  const server = await serve("claude");
  const before = new Set(buckets());
  const first = await begin("claude", server, 30, 1);
  await until(() => server.served.length >= 10);
  server.hang((prompt) => prompt !== "claude thread 30");
  const committed = async () =>
    (await Promise.all(first.map((ref) => host.read(ref)))).flatMap(({ steps }) => steps).length;
  await until(async () => (await committed()) === server.served.length);
  await signalWorkers(root, "SIGKILL");
  const killed = server.served.length;
  const [bucket = ""] = buckets().filter((name) => !before.has(name));
  const { sent } = JSON.parse(readFileSync(join(runDir(root), bucket), "utf8")) as {
    sent: { requests: number };
  };
  const [other] = await begin("claude", server, 1, 1, 30);
  expect((await settled(host, other as ThreadRef)).status).toBe("completed");
  expect(server.served.length - killed).toBe(3);
  expect((await settled(host, first[0] as ThreadRef)).status).not.toBe("running");
  // The rate limiter admitted `sent.requests` calls. The kill may have stopped some of them before the server received
  // them.
  const mostUnknown = sent.requests - killed;
  await expectCounted(host, [...first, other as ThreadRef], [server], mostUnknown);
}, 180_000);
