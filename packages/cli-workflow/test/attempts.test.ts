import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { removeFolders, Store } from "./program.ts";

afterAll(removeFolders);

/* Four agents of one role at once, each of which streams, as their commands show them. */

const source = `import { channel } from "node:diagnostics_channel";
import { durable } from "@uncaged/workflow";

const publish = (type: string, payload: Record<string, unknown>) =>
  channel("uncaged.workflow").publish({ type, stepID: null, payload });

export const descriptor = { description: "Reads four files at once", roles: {} };

async function read(n: number, stuckAfter: number) {
  const call = { call_id: "c" + n, model: "m", cost_usd: 0.01 * n };
  publish("llm_usage", { ...call, usage: { input_tokens: n }, state: "open" });
  for (const [at, word] of ["file ", String(n), " says ", "so\\n"].entries()) {
    publish("llm_token", { delta: word });
    await new Promise((done) => setTimeout(done, at === stuckAfter ? 600_000 : 60 + 30 * n));
  }
  const usage = { input_tokens: 100 * n, output_tokens: n };
  publish("llm_usage", { ...call, usage, state: "whole" });
  if (n === 3) throw new Error("file 3 is torn");
  return "read " + n;
}

export const run = durable(async function* (step, { params }) {
  const { stuckAfter = -1 } = (params ?? {}) as { stuckAfter?: number };
  const reads = [1, 2, 3, 4].map((n) => step("reader", () => read(n, stuckAfter)));
  try {
    yield* step.all(reads);
  } catch {
    // The others go on being read.
  }
  return { returnCode: 0, summary: "read" };
});
`;

type Attempt = {
  attempt: string;
  role: string;
  step: number | null;
  status: string;
  startedAt: number;
  endedAt: number;
  turns: { kind: string; text: string }[];
  usage: { input_tokens: number } | null;
  cost: number | null;
  error: { message: string } | null;
};

let store: Store;
let id: string;
let shown: string;

beforeAll(async () => {
  store = new Store();
  const path = join(store.folder, "read.ts");
  writeFileSync(path, source);
  await store.ok(["add", "read", path], { cwd: import.meta.dir });
  shown = await store.ok(["run", "read", "--follow"]);
  id = (await store.json<{ threadId: string }[]>(["threads"]))[0]?.threadId ?? "";
});

test("each has its own text, tokens, cost and duration, and the failed one its error", async () => {
  const { attempts } = await store.json<{ attempts: Attempt[] }>(["thread", id, "--attempts"]);
  const readers = attempts.filter(({ role }) => role === "reader");
  expect(readers).toHaveLength(4);
  for (const { turns, usage, cost, error, startedAt, endedAt, status } of readers) {
    const n = (usage?.input_tokens ?? 0) / 100;
    expect(turns.map(({ text }) => text)).toEqual([`file ${n} says so\n`]);
    expect(cost).toBeCloseTo(0.01 * n);
    expect(endedAt - startedAt).toBeGreaterThan(4 * (60 + 30 * n) - 5);
    expect([status, error?.message]).toEqual(
      n === 3 ? ["failed", "file 3 is torn"] : ["committed", undefined],
    );
  }
  // Each has its own times: all had begun when the first ended, and they ended in turn.
  const ends = readers.map(({ endedAt }) => endedAt);
  expect(Math.max(...readers.map(({ startedAt }) => startedAt))).toBeLessThan(Math.min(...ends));
  const byEnd = readers.toSorted((one, other) => one.endedAt - other.endedAt);
  expect(byEnd.map(({ usage }) => usage?.input_tokens)).toEqual([100, 200, 300, 400]);
});

test("follow shows each with what it spent, and the caught failure as failed", () => {
  const lines = shown.split("\n");
  for (const n of [1, 2, 4])
    expect(shown).toMatch(new RegExp(`reader.* ${101 * n} tokens, .*read ${n}$`, "m"));
  expect(lines.filter((line) => line.includes("failed"))).toHaveLength(1);
  expect(shown).toMatch(/reader.*failed.*file 3 is torn/);
  expect(lines.at(-1)).toBe("completed: read");
});

test("every event of the log names its attempt, by role for people", async () => {
  const lines = (await store.ok(["logs", id, "--json"])).split("\n");
  const events = lines.map((line) => JSON.parse(line) as { type?: string; attempt?: string });
  const tokens = events.filter(({ type }) => type === "llm_token");
  expect(new Set(tokens.map(({ attempt }) => attempt)).size).toBe(4);
  expect(await store.ok(["logs", id])).toMatch(/ {2}reader \[1\] [0-9A-Z]{4} {2}llm_token/);
});

test("thread shows what each step took and spent", async () => {
  const text = await store.ok(["thread", id]);
  expect(text).toMatch(/^ +\d {2}reader {2}0\.[3-9]s {2}101 tokens, \$0\.0100$/m);
  expect(text).toMatch(/^spent +1,010 tokens, \$0\.1000$/m);
});

const readersOf = async (thread: string): Promise<Attempt[]> => {
  const { attempts } = await store.json<{ attempts: Attempt[] }>(["thread", thread, "--attempts"]);
  return attempts.filter(({ role }) => role === "reader");
};

test("ps has what running attempts spent; what a kill -9 broke off is lost, each with its text", async () => {
  const params = JSON.stringify({ stuckAfter: 1 });
  const stuck = await store.ok(["run", "read", "--params", params]);
  const texts = ["file 1", "file 2", "file 3", "file 4"];
  const textsOf = (readers: Attempt[]) => readers.map(({ turns }) => turns[0]?.text ?? "").sort();
  await until(async () => Bun.deepEquals(textsOf(await readersOf(stuck)), texts));
  expect((await readersOf(stuck)).map(({ status }) => status)).toEqual(Array(4).fill("running"));
  expect(await store.ok(["ps"])).toMatch(/ELAPSED +TOKENS +COST[^\n]*\n.* 10 +\$0\.1000 /);
  await store.killWorkers();
  await store.until(stuck, "interrupted");
  const readers = await readersOf(stuck);
  expect(readers.map(({ status }) => status)).toEqual(Array(4).fill("lost"));
  expect(readers.map(({ step }) => step)).toEqual(Array(4).fill(null));
  expect(textsOf(readers)).toEqual(texts);
});

test("a fork has the attempts of the steps that it copied, and pays for none of them", async () => {
  const fork = await store.ok(["fork", id, "--at-step", "2", "--wait"]);
  const [first, second] = await readersOf(fork);
  const originals = await readersOf(id);
  for (const copied of [first, second]) {
    const { saved, ...rest } = copied as Attempt & { saved?: boolean };
    expect(saved).toBe(true);
    expect(originals).toContainEqual(rest);
  }
});
