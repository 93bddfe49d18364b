import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { messageOf } from "../../../test/fixtures/until.ts";
import type { ThreadQuery } from "../../host/host.ts";
import { dataPath, registryPath, type Root } from "../../disk/paths.ts";
import { createRoot, openRoot } from "../../disk/root.ts";
import { type Status, statuses, type ThreadRow } from "../../record/thread.ts";
import { listThreads } from "./list.ts";
import { readRow } from "./row.ts";
import { allThreads } from "./view.ts";

let folder: string;
let root: Root;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "list-test-"));
  root = openRoot({ path: join(folder, "root") });
  createRoot(root);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const hashes = ["AAAA000000001", "AAAA000000002", "BBBB000000001"];
const names = ["review", "greet", "bbbb"];

const idOf = (n: number): string => `01ARZ3NDEKTSV4RRFFQ69G${String(n).padStart(4, "0")}`;

function write(hash: string, n: number, bytes: Uint8Array | string): string {
  const path = dataPath(root, hash, idOf(n));
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const own =
    typeof bytes === "string" ? bytes.replace("HASH", hash).replace("ID", idOf(n)) : bytes;
  writeFileSync(path, own, { mode: 0o600 });
  return path;
}

const startOf = (name: string, prompt = "") =>
  JSON.stringify({
    name,
    hash: "HASH",
    threadId: "ID",
    parameters: { prompt, options: { maxRounds: 9 } },
    timestamp: 1,
  });

const stepOf = (role: string, content = "") =>
  JSON.stringify({ role, content, meta: {}, timestamp: 2 });

const endOf = (reason: string, returnCode = 0, content = "") =>
  JSON.stringify({ role: "__end__", content, meta: { returnCode, reason }, timestamp: 3 });

const rowsOf = async (at: Root, query: ThreadQuery = {}) =>
  (await listThreads(at, { ...query, paged: false })).rows;
const big = "x".repeat(30_000);
const lasts = [
  stepOf("a"),
  stepOf("__wait__"),
  stepOf("__wait__", big),
  endOf("returned"),
  endOf("returned", 1, big),
  endOf("failed", 1),
  endOf("killed", 1),
  endOf("maxRounds"),
  stepOf("a", "ü ".repeat(3_000)),
];
const middles = [
  stepOf("a"),
  stepOf("b", big),
  stepOf("__wait__"),
  "{",
  "",
  endOf("returned"),
  "1",
];
const tails = ["", "", "", '{"role":"torn', `{"role":"${big}`, "\0\0\0\n", "\0\n{", "}\n"];

const line = (text: string): string => `${text}\n`;
const starts = fc.oneof(
  { arbitrary: fc.constantFrom(...names).map((name) => line(startOf(name))), weight: 8 },
  { arbitrary: fc.constant(line(startOf("review", big))), weight: 2 },
  fc.constantFrom("", "{}\n", "\0\0\n", startOf("greet"), "\n"),
);
const middle = fc.oneof(
  { arbitrary: fc.constant(stepOf("a")), weight: 10 },
  fc.constantFrom(...middles),
);
const logs = fc
  .record({
    hash: fc.constantFrom(...hashes),
    start: starts,
    middle: fc.array(middle, { maxLength: 3 }),
    last: fc.option(fc.constantFrom(...lasts)),
    tail: fc.constantFrom(...tails),
  })
  .map(({ hash, start, middle: between, last, tail }) => ({
    hash,
    text: start + between.map(line).join("") + (last === null ? "" : line(last)) + tail,
  }));

/** The expected list: reads every log, then filters. */
async function plainly(fits: (row: ThreadRow) => boolean): Promise<ThreadRow[]> {
  const refs = allThreads(root).sort((a, b) => (a.threadId > b.threadId ? -1 : 1));
  const rows = await Promise.all(refs.map((ref) => readRow(root, ref)));
  return rows.filter((row) => row !== null).filter(fits);
}

/** Rows without the time that passes between two reads. */
const atOnce = (rows: readonly ThreadRow[]) => rows.map((row) => ({ ...row, waitedMs: 0 }));

const wanted: [string, (row: ThreadRow) => boolean][] = [
  ["review", ({ workflow }) => workflow === "review"],
  ["nobody", () => false],
  ["AAAA000000002", ({ hash }) => hash === "AAAA000000002"],
  ["aaaa000000002", ({ hash }) => hash === "AAAA000000002"],
  ["BBBB0", ({ hash }) => hash === "BBBB000000001"],
  ["bbbb", ({ hash, workflow }) => hash === "BBBB000000001" || workflow === "bbbb"],
  ["review@B", ({ hash, workflow }) => hash === "BBBB000000001" && workflow === "review"],
  ["review@CC", () => false],
  ["review@", () => false],
];

describe("a filtered list", () => {
  test("equals the result of reading every log, page by page", async () => {
    const asked = fc.record({
      status: fc.option(fc.subarray([...statuses], { minLength: 1, maxLength: 4 })),
      workflow: fc.option(fc.constantFrom(...wanted)),
      limit: fc.integer({ min: 1, max: 6 }),
      offset: fc.integer({ min: 0, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(logs, { maxLength: 12 }), asked, async (all, page) => {
        rmSync(join(root, "logs"), { recursive: true, force: true });
        for (const hash of hashes)
          mkdirSync(dirname(dataPath(root, hash, "x")), { recursive: true });
        all.forEach(({ hash, text }, n) => write(hash, n, text));
        const { status, workflow, limit, offset } = page;
        if (!status && !workflow) return;
        const fitting = await plainly(
          (row) => (status?.includes(row.status) ?? true) && (workflow?.[1](row) ?? true),
        );
        const options: ThreadQuery = {
          limit,
          offset,
          ...(status && { status }),
          ...(workflow && { workflow: workflow[0] }),
        };
        const rows = fitting.slice(offset, offset + limit);
        expect(atOnce(await rowsOf(root, options))).toEqual(atOnce(rows));
        const found = await listThreads(root, options);
        expect(atOnce(found.rows)).toEqual(atOnce(rows));
        if (found.total === null) expect(found.next !== null).toBe(fitting.length > offset + limit);
      }),
      { numRuns: 200 },
    );
  }, 60_000);

  test("refuses an ambiguous prefix of hashes, unless it is a registered name", async () => {
    for (const hash of hashes) write(hash, 1, line(startOf("review")));
    const refused = messageOf(rowsOf(root, { workflow: "AAAA" }));
    expect(await refused).toContain("matches 2 hashes");
    writeFileSync(
      registryPath(root),
      `workflows:\n  AAAA:\n    hash: ${hashes[2]}\n    timestamp: 1\n    history: []\n`,
      { mode: 0o600 },
    );
    expect(await rowsOf(root, { workflow: "AAAA" })).toEqual([]);
  });

  test("works without the registry when it can't be read", async () => {
    write("AAAA000000001", 1, line(startOf("review")));
    writeFileSync(registryPath(root), "{", { mode: 0o600 });
    expect(await rowsOf(root, { workflow: "review" })).toHaveLength(1);
  });
});

describe("the number of threads", () => {
  const page = async (options: ThreadQuery) => {
    const { rows, total, next } = await listThreads(root, options);
    return [rows.length, total, next !== null];
  };

  test("is known without a filter and by hash; whether more threads follow is always known", async () => {
    for (let n = 0; n < 5; n += 1) write("AAAA000000001", n, line(startOf("review")));
    write("BBBB000000001", 9, line(startOf("review")) + line(endOf("returned")));
    expect(await page({ limit: 4 })).toEqual([4, 6, true]);
    expect(await page({ limit: 4, offset: 4 })).toEqual([2, 6, false]);
    expect(await page({ limit: 5, workflow: "AAAA000000001" })).toEqual([5, 5, false]);
    expect(await page({ limit: 5, workflow: "review" })).toEqual([5, null, true]);
    expect(await page({ limit: 6, workflow: "review" })).toEqual([6, null, false]);
    expect(await page({ limit: 1, status: "completed" })).toEqual([1, null, false]);
    expect(await page({ limit: 1, status: "interrupted" })).toEqual([1, null, true]);
    expect(await page({ status: "running" })).toEqual([0, null, false]);
  });

  const pages = async (options: ThreadQuery, between: (before: string) => void) => {
    const ids: string[] = [];
    for (let before: string | null | undefined; before !== null; ) {
      const one = await listThreads(root, { ...options, ...(before && { before }) });
      ids.push(...one.rows.map(({ threadId }) => threadId));
      before = one.next;
      if (before) between(before);
    }
    return ids;
  };

  test.each<ThreadQuery>([
    {},
    { workflow: "AAAA000000001" },
    { workflow: "review" },
    { status: "interrupted" },
  ])(
    "pages list each thread once, even if others are created or removed meanwhile: %j",
    async (filter) => {
      const old = Array.from({ length: 20 }, (_, n) => n);
      for (const n of old) write("AAAA000000001", n, line(startOf("review")));
      let created = 20;
      const ids = await pages({ ...filter, limit: 3 }, (before) => {
        write("AAAA000000001", (created += 1), line(startOf("review")));
        rmSync(dataPath(root, "AAAA000000001", before));
      });
      expect(ids).toEqual(old.toReversed().map(idOf));
    },
  );

  test("a page of threads that are not created yet does not end the list", async () => {
    write("AAAA000000001", 1, line(startOf("review")));
    for (const n of [5, 6, 7]) write("AAAA000000001", n, "");
    expect(await pages({ limit: 1 }, () => undefined)).toEqual([idOf(1)]);
  });
});

// Runs only where the system reports the number of bytes that a process has read.
const bytesRead = (): number =>
  Number(/^rchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);

test.if(process.platform === "linux")("a filter skips long logs without reading them", async () => {
  const body = line(stepOf("a", "x".repeat(100_000))).repeat(10);
  const log = line(startOf("review")) + body + line(endOf("returned"));
  for (let n = 0; n < 40; n += 1) write("AAAA000000001", n, log);
  const filters: ThreadQuery[] = [
    ...(["waiting", "failed", "killed", "interrupted"] as Status[]).map((status) => ({ status })),
    { workflow: "greet" },
    { workflow: "AAAA000000001", offset: 40 },
    { workflow: "review", offset: 40 },
  ];
  for (const filter of filters) {
    const before = bytesRead();
    expect(await rowsOf(root, filter)).toEqual([]);
    const read = bytesRead() - before;
    expect({ filter, few: read < log.length }).toEqual({ filter, few: true });
  }
});

test("filtering very many threads lets other work run in between", async () => {
  const log = line(startOf("review")) + line(endOf("returned"));
  for (let n = 0; n < 3_000; n += 1) write("AAAA000000001", n, log);
  let turns = 0;
  let isDone = false;
  const others = (async () => {
    for (; !isDone; turns += 1) await new Promise(setImmediate);
  })();
  expect(await rowsOf(root, { status: "waiting" })).toEqual([]);
  isDone = true;
  await others;
  expect(turns).toBeGreaterThan(2);
});
