import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { playStore, removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);

type Ended = { threadId: string; status: string; result: unknown; question: unknown };

let store: Store;

const durableSource = `
import { durable } from ${JSON.stringify(join(import.meta.dir, "../../workflow/src/entry/index.ts"))};

export const descriptor = { description: "Returns the value in its params", roles: {}, strict: false };

export const run = durable(async function* (step, input) {
  const { ask, flaky, give } = input.params ?? {};
  yield* step("worker", () => "worked");
  if (flaky) {
    let tries = 0;
    yield* step("flaky", () => {
      if ((tries += 1) === 1) throw new Error("not yet");
      return "now";
    }, { retry: { attempts: 3, backoff: 20 } });
  }
  if (ask) return { answer: (yield* step.wait("which", { content: "Which?", ...ask })).value };
  return give;
});
`;

beforeAll(async () => {
  store = await playStore({ inMemory: true });
  const file = join(store.folder, "giver.ts");
  writeFileSync(file, durableSource);
  await store.ok(["add", "giver", file]);
});

const start = async (params: object): Promise<Ended> => {
  const args = ["run", "giver", "--wait", "--json", "--params", JSON.stringify(params)];
  return JSON.parse((await store.run(args)).stdout) as Ended;
};

describe("a durable workflow", () => {
  test("returns any JSON value in addition to its summary", async () => {
    for (const give of [{ n: 1, list: [null] }, [1], 5, 0, false, null]) {
      const { threadId, result } = await start({ give });
      const whole = { returnCode: 0, summary: JSON.stringify(give), value: give };
      expect(result).toEqual(whole);
      expect(await store.json<Ended>(["thread", threadId])).toMatchObject({ result: whole });
    }
  });

  test("returns a text as its summary, and a result object unchanged", async () => {
    expect((await start({ give: "done" })).result).toEqual({ returnCode: 0, summary: "done" });
    const give = { returnCode: 3, summary: "no", value: { why: "x" } };
    expect(await start({ give })).toMatchObject({ status: "failed", result: give });
    expect(await start({ give: { returnCode: 1 } })).toMatchObject({ status: "failed" });
  });

  test("returns its value again in a fork", async () => {
    const { threadId } = await start({ give: { n: 1 } });
    const fork = await store.json<Ended>(["fork", threadId, "--at-step", "1", "--wait"]);
    expect(fork).toMatchObject({ result: { value: { n: 1 } } });
  });
});

describe("--wait", () => {
  test("shows the question of a waiting thread", async () => {
    const schema = { type: "string" };
    const begin = Date.now();
    const { threadId, question } = await start({ ask: { schema, within: "1h" } });
    expect(question).toEqual({
      step: 2,
      for: "which",
      content: "Which?",
      schema,
      expiresAt: expect.any(Number),
    });
    const { expiresAt } = question as { expiresAt: number };
    expect(expiresAt).toBeGreaterThanOrEqual(begin + 3_600_000);
    const answered = await store.json<Ended>(["resume", threadId, "--input", "007", "--wait"]);
    expect(answered).toMatchObject({ question: null, result: { value: { answer: "007" } } });
  });

  test("shows no question of a completed thread", async () => {
    expect((await start({ give: "x" })).question).toBeNull();
  });
});

describe("new params", () => {
  test("are passed to a fork; a fork without new params keeps its source's params", async () => {
    const { threadId } = await start({ give: 1 });
    const changed = ["--params", '{"give":2}', "--wait"];
    const fork = await store.json<Ended>(["fork", threadId, "--at-step", "1", ...changed]);
    expect(fork).toMatchObject({ result: { value: 2 } });
    const again = await store.json<Ended>(["fork", fork.threadId, "--at-step", "1", "--wait"]);
    expect(again).toMatchObject({ result: { value: 2 } });
  });

  test("are passed to a thread that runs again from its first step", async () => {
    const { threadId } = await start({ give: 1 });
    const again = await store.json<Ended & { steps: unknown[] }>([
      "rerun",
      threadId,
      "--params",
      '{"give":{"a":2}}',
      "--wait",
    ]);
    expect(again).toMatchObject({ result: { value: { a: 2 } } });
    const refused = await store.run(["rerun", threadId, "--set", "a=1"]);
    expect(refused.code).toBe(2);
  });
});

test("thread, threads and ps show the same times of a waiting thread", async () => {
  const { threadId } = await start({ ask: {} });
  type Times = { threadId: string; workedMs: number; waitedMs: number };
  const rows = await store.json<Times[]>(["threads"]);
  const row = rows.find((one) => one.threadId === threadId) as Times;
  const thread = await store.json<Times>(["thread", threadId]);
  const live = (await store.json<Times[]>(["ps"])).find((one) => one.threadId === threadId);
  for (const one of [thread, ...(live ? [live] : [])]) {
    expect(one.workedMs).toBe(row.workedMs);
    expect(one.waitedMs).toBeGreaterThanOrEqual(row.waitedMs);
  }
  const answered = await store.json<Times>(["resume", threadId, "--input", "yes", "--wait"]);
  const ended = await store.json<Times>(["thread", answered.threadId]);
  const later = await store.json<Times>(["thread", answered.threadId]);
  expect(later).toEqual(ended);
  expect(ended.waitedMs).toBeGreaterThanOrEqual(thread.waitedMs);
});

test("a retried attempt is described identically in --wait, follow and thread", async () => {
  const words = "try 1 of 3 failed; next in 20 ms";
  const args = ["run", "giver", "--wait", "--params", '{"flaky":true,"give":"x"}'];
  const { code, stdout, stderr } = await store.run(args);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `flaky: ${words}: not yet\ncompleted: x\n`,
  });
  const id = stdout.trim();
  const followed = await store.ok(["follow", id]);
  expect(followed).toContain(`${words}: not yet`);
  expect(followed).not.toContain("  failed: ");
  expect(await store.ok(["thread", id])).toContain(words);
});
