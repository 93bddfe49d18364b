import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Database } from "bun:sqlite";
import fc from "fast-check";
import type { ThreadQuery } from "../../host/host.ts";
import type { ThreadRow } from "../../record/thread.ts";
import { dataPath, type Root } from "../../disk/paths.ts";
import { createRoot, openRoot } from "../../disk/root.ts";
import { listThreads } from "./list.ts";
import { readIndexed } from "./row.ts";
import { ThreadIndex } from "./thread-index.ts";

let folder: string;
let root: Root;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "index-test-"));
  root = openRoot({ path: join(folder, "root") });
  createRoot(root);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const opened = () => new ThreadIndex(root, (ref) => readIndexed(root, ref));
const whole = { most: Number.POSITIVE_INFINITY, open: true };
const file = () => join(root, "index", "threads.sqlite");

const hashes = ["AAAA000000001", "AAAA000000002", "BBBB000000001"];
const idOf = (n: number): string => `01ARZ3NDEKTSV4RRFFQ69G${String(n).padStart(4, "0")}`;
const line = (value: object) => `${JSON.stringify(value)}\n`;
const pathOf = (n: number) => dataPath(root, hashes[n % 3] as string, idOf(n));

function begin(n: number, prompt = `prompt ${n}`, name = n % 2 ? "review" : "greet"): void {
  mkdirSync(dirname(pathOf(n)), { recursive: true, mode: 0o700 });
  const parameters = { prompt, params: { files: n }, options: { maxRounds: 9 } };
  const start = { name, hash: hashes[n % 3], threadId: idOf(n), parameters, timestamp: n };
  writeFileSync(pathOf(n), line(start), { mode: 0o600 });
}

const step = (role: string, content = "") => line({ role, content, meta: {}, timestamp: 2 });
const end = (reason: string, returnCode = 0, content = "done") =>
  line({ role: "__end__", content, meta: { returnCode, reason }, timestamp: 3 });

type Act = {
  n: number;
  kind: "begin" | "step" | "ask" | "end" | "fail" | "break" | "tear" | "remove";
};

async function perform({ n, kind }: Act, index: ThreadIndex): Promise<void> {
  if (!existsSync(pathOf(n))) return begin(n);
  if (kind === "begin") return;
  if (kind === "remove") {
    rmSync(pathOf(n));
    return await index.forget({ hash: hashes[n % 3] as string, threadId: idOf(n) });
  }
  const texts = {
    step: step("coder", "a 100% sure_thing"),
    ask: step("__wait__", "may I?"),
    end: end("returned"),
    fail: end("failed", 1, "orders.csv has no date"),
    break: "}\n",
    tear: '{"role":"to',
  };
  appendFileSync(pathOf(n), texts[kind]);
}

const queries: ThreadQuery[] = [
  {},
  { limit: 3 },
  { limit: 2, offset: 3 },
  { before: idOf(6), limit: 2 },
  { status: "completed", limit: 2 },
  { status: ["failed", "interrupted"] },
  { status: "waiting" },
  { status: "corrupt" },
  { workflow: "review", limit: 3 },
  { workflow: "AAAA000000002" },
  { workflow: "nobody" },
  { search: "prompt 4" },
  { search: "CODER" },
  { search: "may i" },
  { search: "100%", limit: 2 },
  { search: "e_t" },
  { search: "no date", status: "failed" },
  { search: "69G0003" },
  { search: '"files":7' },
  { search: "nowhere" },
  { limit: 4, paged: false },
];

async function agrees(index: ThreadIndex): Promise<void> {
  for (const query of queries) {
    const plain = await listThreads(root, query);
    const indexed = await listThreads(root, query, index);
    const atOnce = (rows: readonly ThreadRow[]) => rows.map((row) => ({ ...row, waitedMs: 0 }));
    expect({ query, rows: atOnce(indexed.rows), total: indexed.total }).toEqual({
      query,
      rows: atOnce(plain.rows),
      total: plain.total,
    });
  }
}

/** All rows of a query, page by page. */
async function pages(query: ThreadQuery, index: ThreadIndex | null): Promise<string[]> {
  const ids: string[] = [];
  for (let before: string | undefined; ; ) {
    const { rows, next } = await listThreads(root, { ...query, limit: 3, before }, index);
    ids.push(...rows.map(({ threadId }) => threadId));
    if (next === null) return ids;
    before = next;
  }
}

const acts = fc.array(
  fc.record<Act>({
    n: fc.nat(12),
    kind: fc.constantFrom("begin", "step", "step", "ask", "end", "fail", "break", "tear", "remove"),
  }),
  { minLength: 1, maxLength: 12 },
);

test("a list from the index equals a list from the logs after any change to them", async () => {
  const rounds = fc.array(acts, { minLength: 1, maxLength: 4 });
  const property = fc.asyncProperty(rounds, async (given) => {
    rmSync(root, { recursive: true, force: true });
    createRoot(root);
    const index = opened();
    for (const round of given) {
      for (const act of round) await perform(act, index);
      expect(await index.refresh(whole)).toBe(true);
      await agrees(index);
      for (const act of round.toReversed()) {
        await perform({ ...act, n: (act.n + 1) % 13 }, index);
      }
      await agrees(index);
    }
    for (const query of [{}, { status: "completed" as const }, { search: "prompt" }]) {
      expect(await pages(query, index)).toEqual(await pages(query, null));
    }
    index.close();
  });
  await fc.assert(property, { numRuns: 15 });
}, 60_000);

function many(count: number): void {
  for (let n = 0; n < count; n += 1) {
    begin(n);
    appendFileSync(pathOf(n), end("returned", 0, `result ${n}`));
  }
}

test("an up-to-date index stays in use during another build", async () => {
  for (let n = 0; n < 30; n += 1) begin(n);
  const index = opened();
  await index.refresh(whole);
  const building = index.build();
  expect(await index.refresh({ most: 10, open: false })).toBe(true);
  await building;
});

test("an index that was deleted, truncated, overwritten or written by another version is rebuilt", async () => {
  many(300);
  const spoils: (() => void)[] = [
    () => rmSync(file()),
    () => truncateSync(file(), Math.floor(statSync(file()).size / 2)),
    () => truncateSync(file(), 10),
    () => writeFileSync(file(), "no database"),
    () => {
      const other = new Database(file());
      other.run("PRAGMA user_version = 99");
      other.close();
    },
    () => {
      const other = new Database(file());
      other.run("DROP TABLE threads");
      other.close();
    },
  ];
  for (const spoil of spoils) {
    const before = opened();
    expect(await before.refresh(whole)).toBe(true);
    before.close();
    spoil();
    const index = opened();
    expect(await index.refresh(whole)).toBe(true);
    await agrees(index);
    expect((await listThreads(root, { search: "result 299" }, index)).rows).toHaveLength(1);
    index.close();
  }
}, 60_000);

test("an index that breaks while open is never trusted", async () => {
  many(300);
  const index = opened();
  expect(await index.refresh(whole)).toBe(true);
  writeFileSync(file(), new Uint8Array(statSync(file()).size).fill(0x55));
  await agrees(index);
  rmSync(join(root, "index"), { recursive: true });
  await agrees(index);
  index.close();
});

test("without a writable index the logs are read", async () => {
  many(12);
  mkdirSync(join(root, "index"));
  writeFileSync(join(root, "index", "threads.sqlite"), "", { mode: 0o400 });
  chmodSync(join(root, "index"), 0o500);
  const index = opened();
  await agrees(index);
  chmodSync(join(root, "index"), 0o700);
  rmSync(join(root, "index"), { recursive: true });
  writeFileSync(join(root, "index"), "a file");
  await agrees(index);
  index.close();
});
