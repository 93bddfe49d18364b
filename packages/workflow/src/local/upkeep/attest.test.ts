import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  blobsDir,
  bundlePath,
  dataPath,
  journalPath,
  mapPath,
  type Root,
} from "../../disk/paths.ts";
import { firstSum, sealed } from "../../record/sum.ts";
import type { ThreadRef } from "../../record/thread.ts";
import { copyOf, emptyRoot, recordedThread } from "../../../test/fixtures/attested.ts";
import { attestThread } from "./attest.ts";
import { readStatement, type Statement } from "./attestation.ts";
import { checkStatement } from "./attested.ts";

const makers = {
  engine: { name: "uncaged-workflow", version: "1" },
  runtime: { name: "bun", version: "2" },
};
const [id, other] = ["01KQXKW18CT8G75T53R8F4G7YG", "01KQXKW18CT8G75T53R8F4G7YH"];

let root: Root;
let remove: () => void;
let ref: ThreadRef;
let statement: Statement;

const made = emptyRoot();
beforeAll(async () => {
  ref = await recordedThread(made.root, { threadId: id });
  statement = await attestThread(made.root, ref, makers);
});
afterAll(() => made.remove());
beforeEach(() => void ({ root, remove } = copyOf(made.root)));
afterEach(() => remove());

const log = () => dataPath(root, ref.hash, ref.threadId);
const journal = () => journalPath(root, ref.hash, ref.threadId);
const blob = () => {
  const folder = blobsDir(root, ref.hash, ref.threadId);
  return join(folder, readdirSync(folder)[0] ?? "");
};
const edit = (path: string, change: (lines: string[]) => string[]) =>
  writeFileSync(path, change(readFileSync(path, "utf8").split("\n")).join("\n"));

/** Returns the parts that do not hold, with file and line. */
const problems = () =>
  checkStatement(root, statement)
    .filter(({ result }) => result !== "holds")
    .map(({ part, result, path = "", line }) => {
      const place = `${path.slice(root.length + 1)}${line === undefined ? "" : `:${line}`}`;
      return `${part} ${result} ${place}`.trim();
    });

test("each part of a statement holds, and the statement survives JSON", () => {
  expect(problems()).toEqual([]);
  const parts = checkStatement(root, statement).map(({ part }) => part);
  expect(parts).toEqual(["bundle", "sources", "log", "log head", "thread", "journal", "blobs"]);
  const read = readStatement(JSON.stringify(statement));
  expect(read).toEqual({ statement, unknown: [] });
  expect(JSON.stringify(statement)).not.toContain("a prompt");
});

/** Rewrites a log with other steps and recomputed sums. */
function forge(change: (record: { content?: string }) => void): void {
  let sum = firstSum;
  edit(log(), (lines) =>
    lines.map((line) => {
      if (line === "") return line;
      const { sum: _, ...record } = JSON.parse(line) as { content?: string; sum: string };
      change(record);
      const next = sealed(JSON.stringify(record), sum);
      sum = next.sum;
      return next.text;
    }),
  );
}

const short = (path: string) => path.slice(root.length + 1);

test.each<[string, () => void, () => string[]]>([
  [
    "a byte of a record",
    () => edit(log(), (lines) => lines.with(2, (lines[2] ?? "").replace("step 2", "step 3"))),
    () => [`log differs ${short(log())}:3`, `log head differs ${short(log())}:3`, "thread unknown"],
  ],
  [
    "a record, with recomputed sums",
    () => forge((record) => void (record.content === "step 3" && (record.content = "step x"))),
    () => [`log differs ${short(log())}:4`, `log head differs ${short(log())}`],
  ],
  [
    "a result, with recomputed sums",
    () => forge((record) => void (record.content === "done" && (record.content = "failed"))),
    () => [
      `log differs ${short(log())}:5`,
      `log head differs ${short(log())}`,
      `thread differs ${short(log())}`,
    ],
  ],
  [
    "a lost record",
    () => edit(log(), (lines) => lines.toSpliced(1, 1)),
    () => [`log differs ${short(log())}:2`, `log head differs ${short(log())}:2`, "thread unknown"],
  ],
  [
    "a lost end",
    () => edit(log(), (lines) => lines.toSpliced(4, 1)),
    () => [
      `log differs ${short(log())}:5`,
      `log head differs ${short(log())}`,
      `thread differs ${short(log())}`,
    ],
  ],
  [
    "a lost log",
    () => rmSync(log()),
    () => ["log", "log head", "thread"].map((part) => `${part} missing ${short(log())}`),
  ],
  [
    "a byte of the journal",
    () => edit(journal(), (lines) => lines.with(2, (lines[2] ?? "").replace("k1", "k2"))),
    () => [`journal differs ${short(journal())}:3`],
  ],
  ["a lost journal", () => rmSync(journal()), () => [`journal missing ${short(journal())}`]],
  [
    "the bundle",
    () => edit(bundlePath(root, ref.hash), (lines) => [...lines, "//"]),
    () => [`bundle differs ${short(bundlePath(root, ref.hash))}`],
  ],
  [
    "a lost bundle",
    () => rmSync(bundlePath(root, ref.hash)),
    () => [`bundle missing ${short(bundlePath(root, ref.hash))}`],
  ],
  [
    "a source",
    () => edit(mapPath(root, ref.hash), ([map = ""]) => [map.replace("// plan", "// plot")]),
    () => [`sources differs ${short(mapPath(root, ref.hash))}`],
  ],
  [
    "a blob",
    () => edit(blob(), (lines) => [...lines, "x"]),
    () => [`blobs differs ${short(blob())}`],
  ],
])("a change is found with file and line: %s", (_, change, expected) => {
  change();
  expect(problems()).toEqual(expected());
});

test("a changed source is named", () => {
  edit(mapPath(root, ref.hash), ([map = ""]) => [map.replace("// plan", "// plot")]);
  const messages = checkStatement(root, statement).map(({ message }) => message);
  expect(messages).toContain("the source src/plan.ts has changed");
});

test("the log of another run with the same id is recognized", async () => {
  const copy = emptyRoot();
  try {
    await recordedThread(copy.root, { threadId: id, prompt: "another", steps: 1 });
    cpSync(dataPath(copy.root, ref.hash, id), log());
    expect(problems()[0]).toBe(`log differs ${short(log())}:1`);
    const [check] = checkStatement(root, statement).filter(({ part }) => part === "log");
    expect(check?.message).toBe("another log: none of its records are attested");
  } finally {
    copy.remove();
  }
});

test("a fork names its origin", async () => {
  const fork = await recordedThread(root, { threadId: other, fork: ref });
  const { predicate } = await attestThread(root, fork, makers);
  expect(predicate.thread.forkFrom).toEqual({ threadId: id, steps: 1, origin: id });
});

const code = async (act: () => unknown) => {
  try {
    return await act();
  } catch (error) {
    return (error as { code: unknown }).code;
  }
};

test("a thread that has not ended, or is damaged, is refused", async () => {
  const open = await recordedThread(root, { threadId: other, isEnded: false });
  expect(await code(() => attestThread(root, open, makers))).toBe("THREAD_NOT_ENDED");
  edit(journal(), (lines) => lines.with(1, "{}"));
  expect(await code(() => attestThread(root, ref, makers))).toBe("LOG_CORRUPT");
  edit(bundlePath(root, ref.hash), (lines) => [...lines, "//"]);
  edit(log(), (lines) => lines.with(1, "{}"));
  expect(await code(() => attestThread(root, ref, makers))).toBe("LOG_CORRUPT");
});

test("unknown keys are named, and other types are refused", async () => {
  const newer = structuredClone(statement) as Statement & { extra: number };
  newer.extra = 1;
  Object.assign(newer.predicate.thread, { mood: "good" });
  const read = readStatement(JSON.stringify(newer));
  expect(read).toEqual({ statement, unknown: ["predicate.thread.mood", "extra"] });
  const later = { ...statement, predicateType: statement.predicateType.replace("v1", "v2") };
  for (const wrong of [later, { ...statement, predicateType: "x" }, [], null, { subject: 1 }])
    expect(await code(() => readStatement(JSON.stringify(wrong)))).toBe("NOT_AN_ATTESTATION");
  expect(await code(() => readStatement("{"))).toBe("NOT_AN_ATTESTATION");
});
