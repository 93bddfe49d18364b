import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { elapse } from "../../workflow/test/fixtures/elapsed.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { removeFolders, Store } from "./program.ts";

afterAll(removeFolders);

const napBundle = `export const descriptor = { description: "sleeps or asks", roles: {} };
export async function* run({ steps, params }) {
  const expiresAt = Date.now() + params.ms;
  if (steps.length === 0)
    yield { role: "__wait__", content: "", meta: { for: "it", expiresAt, ...params.wait } };
  if (steps.length < 3) yield { role: "awake", content: "", meta: {} };
  return { returnCode: 0, summary: "slept" };
}`;

const dayMs = 86_400_000;

/** Returns a thread that sleeps or waits for a day, whose worker was killed. */
async function asleep(wait: object = { sleep: true }) {
  const store = new Store();
  writeFileSync(join(store.folder, "nap.esm.js"), napBundle);
  await store.ok(["add", "nap", "nap.esm.js"]);
  const params = JSON.stringify({ ms: dayMs, wait });
  const id = await store.ok(["run", "nap", "--params", params]);
  const log = logOf(store, id);
  await log.isAsleep();
  await store.killWorkers();
  return { store, id, ...log };
}

/** Reads a log directly, because any command would wake its thread. */
function logOf(store: Store, id: string) {
  const logs = join(store.root, "logs");
  const pathIn = (hash: string) => join(logs, hash, `${id}.data.jsonl`);
  const hash = readdirSync(logs).find((name) => existsSync(pathIn(name))) as string;
  const path = pathIn(hash);
  const read = (): { role?: string }[] =>
    readFileSync(path, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const poll = (isDone: () => boolean) =>
    until(isDone, () => `the thread has ${JSON.stringify(read())}`);
  return {
    isAsleep: () => poll(() => read().length > 1),
    isWoken: () => read().length > 2,
    makeDue: () => elapse(openRoot({ path: store.root }), { hash, threadId: id }),
    roles: async () => {
      await poll(() => read().at(-1)?.role === "__end__");
      return read()
        .slice(1)
        .map(({ role }) => role);
    },
  };
}

const whole = ["__wait__", "__input__", "awake", "__end__"];

test("wake wakes each due thread once, and reports the next due time", async () => {
  const { store, id, makeDue, roles } = await asleep();
  expect(await store.json<object>(["wake"])).toEqual({
    woken: [],
    failed: [],
    next: expect.any(Number),
  });
  makeDue();
  expect(await store.ok(["wake"])).toBe(`woke ${id}`);
  expect(await roles()).toEqual(whole);
  const after = await store.run(["wake"]);
  expect(after).toEqual({ code: 0, stdout: "", stderr: "no thread is asleep\n" });
});

test("any command wakes due threads", async () => {
  const { store, makeDue, roles } = await asleep();
  makeDue();
  // The command starts this program again to wake the thread.
  expect(await store.start(["list"]).exited).toBe(0);
  expect(await roles()).toEqual(whole);
});

test("due threads of a storage root that an agent put into a project wake only on request", async () => {
  const { store, makeDue, isWoken, roles } = await asleep();
  makeDue();
  writeFileSync(join(store.folder, "uncaged.json"), JSON.stringify({ root: "root" }));
  const env = { UNCAGED_WORKFLOW_STORAGE_ROOT: "" };
  for (const command of ["list", "ps", "threads"]) {
    expect(await store.start([command], { env }).exited).toBe(0);
  }
  expect(isWoken()).toBe(false);
  expect(await store.start(["wake"], { env }).exited).toBe(0);
  expect(await roles()).toEqual(whole);
});

test("a server wakes sleeping threads and threads with an unanswered question", async () => {
  for (const wait of [{ sleep: true }, { onTimeout: "late" }]) {
    const { store, makeDue, roles } = await asleep(wait);
    makeDue();
    const server = store.start(["serve", "--port", "0"]);
    expect(await roles()).toEqual(whole);
    server.kill();
    await server.exited;
  }
});

test("lists show the end of a thread's sleep, and a sleeping thread can't be answered", async () => {
  const { store, id } = await asleep();
  const rows = await store.json<object[]>(["threads"]);
  expect(rows).toMatchObject([{ status: "waiting", sleepingUntil: expect.any(Number) }]);
  expect(await store.ok(["threads"])).toMatch(/SLEEPING UNTIL.*\n.*20\S+T\S+Z/);
  expect(await store.ok(["thread", id])).toMatch(/sleeping until 20\S+Z/);
  const refused = await store.run(["resume", id, "--input", "yes"]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(
    /is sleeping until 20\S+Z: it is not waiting for an answer; hint: wait until then/,
  );
});
