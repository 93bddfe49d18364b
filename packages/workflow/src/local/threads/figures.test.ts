import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database } from "bun:sqlite";
import { endRecord, Logged, opening, paidStep } from "../../../test/fixtures/logged.ts";
import type { ThreadFilter } from "../../host/host.ts";
import type { Root } from "../../disk/paths.ts";
import { createRoot, openRoot } from "../../disk/root.ts";
import type { LiveRow, ThreadRow } from "../../record/thread.ts";
import { listThreads } from "./list.ts";
import { readIndexed, readRow } from "./row.ts";
import { figuresOf, summaryOf } from "./summary.ts";
import { ThreadIndex } from "./thread-index.ts";

let folder: string;
let root: Root;
let logged: Logged;
let index: ThreadIndex;
const hash = "AAAA000000001";
const opened = () => new ThreadIndex(root, (ref) => readIndexed(root, ref));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "figures-test-"));
  root = openRoot({ path: join(folder, "root") });
  createRoot(root);
  logged = new Logged(root, hash);
  index = opened();
});
afterEach(() => {
  index.close();
  rmSync(folder, { recursive: true, force: true });
});

const whole = { most: Number.POSITIVE_INFINITY, open: true };
const rowOf = async (n: number): Promise<ThreadRow> =>
  (await readRow(root, logged.ref(n))) as ThreadRow;

/** The row of a thread in a list from the index. */
async function indexed(n: number): Promise<ThreadRow | undefined> {
  expect(await index.refresh(whole)).toBe(true);
  const { rows } = await listThreads(root, { limit: 100 }, index);
  return rows.find(({ threadId }) => threadId === logged.idOf(n));
}

const call = { kind: "call", call: "c1", model: "big", attempt: "a1" };
const used = { input_tokens: 40, output_tokens: 0 };
const paid = { kind: "usage", call: "c1", model: "big", usage: used, cost: 0.5, attempt: "a1" };
const attempt = { kind: "attempt", attempt: "a1", role: "coder", step: 1 };

describe("the spending of a row", () => {
  test("includes an attempt of a killed worker", async () => {
    logged.begin(1);
    logged.append(1, paidStep("planner", 1));
    logged.journal(1, attempt, call, { ...paid, state: "open" });
    expect(await rowOf(1)).toMatchObject({
      status: "interrupted",
      spent: { tokens: 140, cost: 1.5, unpriced: 0 },
      at: { role: "planner", text: null },
    });
    expect((await indexed(1))?.spent.cost).toBe(1.5);
    expect(await figuresOf(root, hash, index)).toMatchObject({
      cost: 1.5,
      tokens: 140,
      models: [
        { name: "m", calls: 1, cost: 1 },
        { name: "big", calls: 1, cost: 0.5, failed: 1 },
      ],
    });
  });

  test("is read again when only the journal has grown", async () => {
    logged.begin(1);
    logged.journal(1, attempt, call);
    expect((await indexed(1))?.spent.cost).toBe(0);
    logged.journal(1, attempt, call, { ...paid, state: "whole" });
    const { rows } = await listThreads(root, {}, index);
    expect(rows[0]?.spent.cost).toBe(0.5);
  });

  test("counts a step's own record instead of the calls of its attempt", async () => {
    logged.begin(1);
    logged.journal(1, attempt, call, { ...paid, state: "whole" });
    logged.append(1, paidStep("coder", 2, { attempt: "a1" }), endRecord("returned"));
    expect((await rowOf(1)).spent).toEqual({ tokens: 100, cost: 2, unpriced: 0 });
    expect(readIndexed(root, logged.ref(1))?.figures).toEqual({
      roles: [{ name: "coder", calls: 1, failed: 0, tokens: 100, cost: 2 }],
      models: [
        { name: "m", calls: 1, failed: 0, tokens: 100, cost: 2 },
        { name: "big", calls: 1, failed: 0, tokens: 0, cost: 0 },
      ],
    });
  });

  test("of a fork excludes its copied steps", async () => {
    logged.begin(1, { forkFrom: { threadId: logged.idOf(9), steps: 1 } });
    logged.append(1, paidStep("planner", 1), paidStep("coder", 2));
    expect((await rowOf(1)).spent.cost).toBe(2);
    expect(readIndexed(root, logged.ref(1))?.figures.roles).toMatchObject([{ name: "coder" }]);
  });

  test("skips damaged lines of a journal", async () => {
    logged.begin(1);
    logged.journal(1, attempt, call, { ...paid, state: "whole" });
    const path = logged.path(1).replace(".data.", ".journal.");
    appendFileSync(path, '{"kind":"usage","call":7}\n\0\0\n{"kind":"usage","ca');
    expect((await rowOf(1)).spent.cost).toBe(0.5);
  });
});

describe("the errors of a row", () => {
  const failure = { name: "Error", message: "no answer" };

  test("include a failed attempt of a thread that continues", async () => {
    logged.begin(1);
    logged.append(1, { ...paidStep("coder", 0), meta: { __durable__: { failure } } });
    logged.append(1, paidStep("coder", 1), endRecord("returned"));
    logged.begin(2);
    logged.journal(2, attempt, { kind: "failed", attempt: "a1" });
    logged.begin(3);
    const { rows } = await listThreads(root, { hasError: true });
    expect(rows.map(({ threadId }) => threadId)).toEqual([logged.idOf(2), logged.idOf(1)]);
    expect(await indexed(1)).toMatchObject({ status: "completed", hasError: true });
  });

  test("name the failed role and the first line of the message", async () => {
    logged.begin(1);
    const error = { name: "TypeError", step: 2, role: "coder" };
    const failed = endRecord("failed", 1, "\u001b[31mno such\u202e file\nat x.ts:1");
    logged.append(1, paidStep("planner", 1), { ...failed, meta: { ...failed.meta, error } });
    const at = { role: "coder", text: "no such file" };
    expect(await rowOf(1)).toMatchObject({ at, hasError: true });
    expect(await figuresOf(root, hash, null)).toMatchObject({
      newestFailure: { threadId: logged.idOf(1), subject: "prompt 1", error: at.text, at: 3 },
    });
  });

  test("of a thread that returned a code other than 0 are its summary", async () => {
    logged.begin(1);
    logged.append(1, paidStep("planner", 1), endRecord("returned", 2, "not fit"));
    expect((await rowOf(1)).at).toEqual({ role: "planner", text: "not fit" });
  });
});

test("a waiting thread names the role that asks, by its attempt", async () => {
  logged.begin(1);
  logged.journal(1, attempt, call);
  const meta = { for: "tool", stepQuestion: "q", attempt: "a1" };
  logged.append(1, { role: "__wait__", content: "\n\u0000\nmay I?\nrm", meta, timestamp: 2 });
  expect((await rowOf(1)).at).toEqual({ role: "coder", text: "may I?" });
});

test.each([
  ["markup", "<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
  ["escapes", "\u001b]0;t\u0007\u001b[2J\u001b[1;31mred\u001b[0m", "]0;tred"],
  ["directions", "\u202e\u2066evil\u2069\u200f.exe", "evil.exe"],
  ["zeros", "a\u0000b\u0008c", "abc"],
  ["a lone surrogate", "x\ud800", "x\ufffd"],
  ["a very long line", `${" ".repeat(5_000_000)}${"y".repeat(5_000_000)}`, `${"y".repeat(199)}…`],
  ["a cut pair", `${"y".repeat(198)}😀😀`, `${"y".repeat(198)}…`],
  ["only blanks", " \n\t\u2028\u200b\n", "review"],
])("a subject is safe to show: %s", async (_, prompt, subject) => {
  logged.begin(1, { prompt });
  expect((await rowOf(1)).subject).toBe(subject);
  expect((await indexed(1))?.subject).toBe(subject);
});

test.each([
  [{ b: 1, a: "x\ny", c: { d: null } }, 'b: 1, a: x, c: {"d":null}'],
  ["text", "text"],
  [[1, 2], "[1,2]"],
  [{}, "review"],
  [null, "review"],
])("without a prompt the params are the subject: %j", async (params, subject) => {
  logged.begin(1, { prompt: "", params });
  expect((await rowOf(1)).subject).toBe(subject);
});

test("a damaged log has a row, and counts only in the number of threads", async () => {
  logged.begin(1);
  logged.append(1, paidStep("planner", 1));
  appendFileSync(logged.path(1), "}\n");
  writeFileSync(logged.path(2), "{}\n");
  expect(await rowOf(1)).toMatchObject({ status: "corrupt", subject: "prompt 1" });
  expect(await rowOf(2)).toMatchObject({ status: "corrupt", subject: "", at: { role: null } });
  const { hours } = await summaryOf(root, {}, index);
  expect(hours.map(({ failed, p50Ms }) => [failed, p50Ms])).toEqual([
    [0, null],
    [0, null],
  ]);
  expect(await figuresOf(root, hash, index)).toMatchObject({ completed: 0, failed: 0 });
});

const hour = 3_600_000;

/** 40 threads of four hours; every fourth failed, and every fifth is open. */
function several(): void {
  for (let n = 0; n < 40; n += 1) {
    const at = 1_000 * hour + Math.floor(n / 10) * hour + n;
    logged.begin(n, { at, name: n % 2 ? "review" : "greet" });
    logged.append(n, paidStep("coder", n / 100, { timestamp: at + 10 * n }));
    if (n % 5 === 0) continue;
    logged.append(n, endRecord(n % 4 === 0 ? "failed" : "returned", 0, "over", at + 10 * n));
  }
}

const filters: ThreadFilter[] = [
  {},
  { since: 1_001 * hour },
  { until: 1_001 * hour + 12 },
  { since: 1_001 * hour, until: 1_002 * hour, workflow: "review" },
  { minCost: 0.2 },
  { minCost: 0.2, status: "completed", workflow: "review" },
  { minWorkedMs: 250 },
  { hasError: true },
  { hasError: true, since: 1_003 * hour },
  { status: ["failed", "interrupted"] },
  { status: [] },
  { workflow: hash, minCost: 0.1, minWorkedMs: 300, search: "prompt" },
];

test.each(filters)(
  "a list and a summary from the index equal those from the logs: %j",
  async (filter) => {
    several();
    const plain = await listThreads(root, filter);
    const sums = await summaryOf(root, filter, index);
    expect(await index.refresh(whole)).toBe(true);
    const listed = await listThreads(root, filter, index);
    expect(listed.rows).toEqual(plain.rows);
    const { result, opened: logs } = await opening(() => summaryOf(root, filter, index));
    expect(result).toEqual(sums);
    expect(logs).toEqual([]);
  },
);

test("percentiles use the nearest rank and cover ended threads", async () => {
  several();
  const { hours } = await summaryOf(root, { workflow: hash }, index);
  expect(hours).toHaveLength(4);
  // Threads 11 to 14 and 16 to 19 have ended.
  expect(hours[1]).toEqual({
    ...{ at: 1_001 * hour, runs: 10, failed: 2, p50Ms: 140, p95Ms: 190, cost: 1.45 },
  });
});

test("the figures of a version from the index equal the figures from the logs", async () => {
  several();
  const today = Date.now();
  logged.begin(50, { at: today });
  logged.append(50, endRecord("failed", 1, "no disk", today + 5));
  logged.begin(51, { at: today - 40 * 24 * hour });
  const plain = await figuresOf(root, hash, null);
  expect(await index.refresh(whole)).toBe(true);
  const { result, opened: logs } = await opening(() => figuresOf(root, hash, index));
  expect(result).toEqual(plain);
  expect(logs).toEqual([]);
  const day = 24 * hour;
  expect(result.days).toEqual([{ at: Math.floor(today / day) * day, completed: 0, failed: 1 }]);
  expect(result).toMatchObject({ newestFailure: { error: "no disk", at: today + 5 } });
});

test("a removed thread is not counted", async () => {
  several();
  expect(await index.refresh(whole)).toBe(true);
  const before = await figuresOf(root, hash, index);
  rmSync(logged.path(39));
  await index.forget(logged.ref(39));
  const after = await figuresOf(root, hash, index);
  expect([after.completed, after.cost]).toEqual([before.completed - 1, before.cost - 0.39]);
});

test("an index of the format before figures is rebuilt", async () => {
  several();
  expect(await index.refresh(whole)).toBe(true);
  index.close();
  const old = new Database(join(root, "index", "threads.sqlite"));
  old.run("DROP TABLE threads");
  old.run(
    "CREATE TABLE threads (number INTEGER PRIMARY KEY, threadId TEXT, hash TEXT, size INTEGER, changed REAL, isOver INTEGER, status TEXT, workflow TEXT, row TEXT)",
  );
  old.run("PRAGMA user_version = 4");
  old.close();
  index = opened();
  const plain = await listThreads(root, { minCost: 0.2 });
  expect((await listThreads(root, { minCost: 0.2 }, index)).rows).toEqual(plain.rows);
});

test("the log of a driven thread is read again only after a write, or without its worker", async () => {
  logged.begin(1);
  logged.append(1, paidStep("planner", 1));
  logged.journal(1, attempt, call, { ...paid, state: "open" });
  const driver: LiveRow = {
    ...{ ...logged.ref(1), workflow: "review", status: "running", pid: 1, role: "coder" },
    ...{ steps: 1, elapsedMs: 0, workedMs: 0, waitedMs: 0 },
  };
  const read = (found: LiveRow | null) =>
    opening(() => readRow(root, logged.ref(1), { find: async () => found }));
  const running = { status: "running", spent: { cost: 1.5 } };
  expect((await read(driver)).result).toMatchObject(running);
  const again = await read(driver);
  expect(again.result).toMatchObject(running);
  expect(again.opened).toEqual([]);
  logged.append(1, paidStep("planner", 2));
  expect((await read(driver)).result).toMatchObject({ steps: 2, spent: { cost: 3.5 } });
  logged.journal(1, attempt, call, { ...paid, cost: 0.75, state: "open" });
  expect((await read(driver)).result).toMatchObject({ steps: 2, spent: { cost: 3.75 } });
  expect((await read(null)).result).toEqual(await rowOf(1));
});
