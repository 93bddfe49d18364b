import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { putBundle } from "../../bundle/store.ts";
import { InfoLog } from "../../worker/info.ts";
import { noMask } from "../../contract/mask.ts";
import { register } from "../../registry/versions.ts";
import { addDue, duePath, noteDueComplete } from "../../disk/due.ts";
import { identityOfRoot } from "../../disk/identity.ts";
import { writeLocation } from "../../disk/location.ts";
import {
  blobsDir,
  bundlePath,
  dataPath,
  descriptorPath,
  identityPath,
  infoPath,
  journalPath,
  locationPath,
  mapPath,
  type Root,
  registryPath,
  typesPath,
  valuesPath,
} from "../../disk/paths.ts";
import { openRoot } from "../../disk/root.ts";
import { sha256 } from "../../record/sha256.ts";
import { firstSum, sealed } from "../../record/sum.ts";
import { DiskStore } from "../../disk/store.ts";
import type { Claim } from "../../store/store.ts";
import { prepareThread } from "../../worker/create.ts";
import { verifyStore } from "./verify.ts";
import { changeProven } from "../workflows.ts";

const hour = 3_600_000;
const map = (file: string) =>
  JSON.stringify({ version: 3, sources: [file], sourcesContent: [file], mappings: "" });

/**
 * Two files of a kind. The store has two versions of a name, and two threads: both sleep, have blobs, values and
 * journals, and have moved.
 */
type Pair = [string, string];
let root: Root;
let hashes: Pair;
let ids: Pair;
let due: { hash: string; threadId: string; at: number }[];
let blobs: Pair;

beforeEach(async () => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "verify-each-")) });
  const stored: string[] = [];
  for (const n of [1, 2]) {
    const bytes = new TextEncoder().encode(`bundle ${n}`);
    const descriptor = { description: `version ${n}`, roles: {} };
    const beside = { descriptor, types: `export {}; // ${n}`, map: map(`${n}.ts`) };
    const hash = await putBundle(root, bytes, beside);
    await changeProven(root, (registry) => register(registry, "w", hash, n));
    stored.push(hash);
  }
  hashes = stored as Pair;
  noteDueComplete(root);
  await identityOfRoot(root, "here");
  due = [];
  ids = ["01KQXKW18CT8G75T53R8F4G7YG", "01KQXKW18CT8G75T53R8F4G7YH"];
  blobs = ["", ""];
  for (const [n, threadId] of ids.entries()) await sleeper(n, threadId);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function sleeper(n: number, threadId: string): Promise<void> {
  const [hash] = hashes;
  const at = Date.now() + (n + 2) * hour;
  const bundle = { rounds: 9, sha256: sha256(readFileSync(bundlePath(root, hash))) };
  const request = { threadId, workflow: "w", prompt: `thread ${n}`, env: {} };
  const claim = await created(hash, request, bundle);
  await claim.journal(JSON.stringify({ kind: "journal", hash, threadId, at: 0 }));
  await claim.journal(JSON.stringify({ kind: "entry", key: "a", at: 0, entry: n }));
  const bytes = Buffer.from(`before edit ${n}`);
  const undoId = (await claim.putBlob(bytes)) as string;
  blobs[n] = undoId;
  const step = (role: string, meta: object) =>
    JSON.stringify({ role, content: "", meta, timestamp: 1 });
  await claim.append(step("coder", { tools: [JSON.stringify({ undoId })] }), { kind: "running" });
  due.push({ hash, threadId, at });
  const sleeps = step("__wait__", { for: "sleep", sleep: true, expiresAt: at });
  await claim.append(sleeps, { kind: "waiting", dueAt: at });
  const info = new InfoLog(claim, noMask);
  for (const length of [20_000, 30_000]) {
    const payload = { text: String(n).repeat(length + n) };
    info.event({ tag: "QK4DX8TM", type: "step_print", stepID: null, payload });
  }
  info.close();
  await claim.release();
  writeLocation(root, { hash, threadId }, { moves: n + 1, host: null, at: 1 });
}

/** Creates and claims a thread. */
async function created(
  hash: string,
  request: { threadId: string; workflow: string; prompt: string; env: object },
  bundle: { rounds?: number; sha256: string },
): Promise<Claim> {
  const store = new DiskStore(root);
  const { thread } = await prepareThread(store, hash, { ...request, env: {} }, bundle);
  const { claim } = await store.create(thread, { owner: "a test", leaseMs: 60_000 });
  return claim as Claim;
}

const problems = async () =>
  (await verifyStore(root)).problems.map(({ path, line }) => ({
    path: path.slice(root.length + 1),
    ...(line !== undefined && { line }),
  }));
const named = async () => (await problems()).map(({ path }) => path);
const short = (path: string) => path.slice(root.length + 1);

/** Pairs of files that the work of a thread depends on. */
const pairs: [string, () => Pair][] = [
  ["bundle", () => pairOf(hashes, (hash) => bundlePath(root, hash))],
  ["descriptor", () => pairOf(hashes, (hash) => descriptorPath(root, hash))],
  ["types", () => pairOf(hashes, (hash) => typesPath(root, hash))],
  ["source map", () => pairOf(hashes, (hash) => mapPath(root, hash))],
  ["log", () => pairOf(ids, (id) => dataPath(root, hashes[0], id))],
  ["journal", () => pairOf(ids, (id) => journalPath(root, hashes[0], id))],
  ["file of values", () => pairOf(ids, (id) => valuesPath(root, hashes[0], id))],
  ["location note", () => pairOf(ids, (id) => locationPath(root, hashes[0], id))],
  [
    "blob",
    () =>
      [0, 1].map((n) =>
        join(blobsDir(root, hashes[0], ids[n] as string), blobs[n] as string),
      ) as Pair,
  ],
  ["due entry", () => due.map((one) => duePath(root, one)) as Pair],
];
const pairOf = (two: Pair, pathOf: (one: string) => string): Pair => [
  pathOf(two[0]),
  pathOf(two[1]),
];

test("a store with all of these files is sound", async () => {
  expect(await verifyStore(root)).toEqual({
    checked: { bundles: 2, threads: 2 },
    problems: [],
    withoutSums: [],
  });
});

describe.each(pairs)("a %s", (kind, pair) => {
  /** Returns the reported path: a missing due entry is reported at its sleeping thread. */
  const shown = (path: string, n: number) =>
    short(kind === "due entry" ? dataPath(root, hashes[0], ids[n] as string) : path);

  test("that is missing is reported", async () => {
    const [path] = pair();
    rmSync(path);
    expect(await named()).toContain(shown(path, 0));
  });

  test.skipIf(kind === "due entry")("that is a copy of another is reported", async () => {
    const [one, other] = pair();
    copyFileSync(one, other);
    expect(await named()).toContain(short(other));
  });

  test("that was swapped with another file is reported", async () => {
    const [one, other] = pair();
    if (kind === "due entry") swapMoments(one, other);
    else {
      renameSync(one, `${one}.aside`);
      renameSync(other, one);
      renameSync(`${one}.aside`, other);
    }
    const found = await named();
    expect(found).toContain(shown(one, 0));
    if (kind !== "due entry") expect(found).toContain(shown(other, 1));
  });

  // Only the start and the length of such a value are known.
  test.skipIf(kind === "due entry" || kind === "file of values")(
    "with a changed byte is reported",
    async () => {
      const [path] = pair();
      const bytes = readFileSync(path);
      // The name of a host may be any text.
      const at = kind === "location note" ? bytes.indexOf("moves") : bytes.length >> 1;
      bytes[at] = (bytes[at] as number) ^ 1;
      writeFileSync(path, bytes);
      expect(await named()).toContain(short(path));
    },
  );
});

/** Swaps the wake times of two threads. */
function swapMoments(one: string, other: string): void {
  const [first, second] = [basename(one), basename(other)];
  const renamed = (name: string, moment: string) => name.replace(/^\d+/, moment);
  const momentOf = (name: string) => name.split(".")[0] as string;
  rmSync(one);
  rmSync(other);
  writeFileSync(join(dirname(other), renamed(first, momentOf(second))), "", { mode: 0o600 });
  writeFileSync(join(dirname(one), renamed(second, momentOf(first))), "", { mode: 0o600 });
}

describe("the registry", () => {
  const path = () => registryPath(root);
  const change = (edit: (lines: string[]) => string[]) =>
    writeFileSync(path(), edit(readFileSync(path(), "utf8").split("\n")).join("\n"));

  test("that is missing is reported", async () => {
    rmSync(path());
    expect(await named()).toContain("workflow.yaml");
  });

  test("with two swapped hashes is reported with their lines", async () => {
    const text = readFileSync(path(), "utf8");
    const [one, two] = hashes;
    writeFileSync(path(), text.replace(one, "?").replace(two, one).replace("?", two));
    expect(await problems()).toEqual(
      expect.arrayContaining([
        { path: "workflow.yaml", line: 1 },
        { path: "workflow.yaml", line: 4 },
        { path: "workflow.yaml", line: 8 },
      ]),
    );
  });

  test.each([
    ["lost a version", (lines: string[]) => lines.toSpliced(7, 3).with(6, "    history: []")],
    [
      "swapped times",
      (lines: string[]) => lines.with(5, "    timestamp: 1").with(9, "        timestamp: 2"),
    ],
    ["lost a name", (lines: string[]) => [lines[0] as string, "workflows: {}", ""]],
  ])("that has %s is reported", async (_, edit) => {
    change(edit);
    expect(await problems()).toContainEqual({ path: "workflow.yaml", line: 1 });
  });

  test("with a duplicate version is reported with its line", async () => {
    change((lines) => [...lines.slice(0, 10), ...lines.slice(7)]);
    expect(await problems()).toContainEqual({ path: "workflow.yaml", line: 11 });
  });
});

test("a start record of another bundle is reported with its line", async () => {
  const [hash] = hashes;
  const threadId = "01KQXKW18CT8G75T53R8F4G7YF";
  const request = { threadId, workflow: "w", prompt: "", env: {} };
  const bundle = { sha256: sha256("another bundle") };
  await (await created(hash, request, bundle)).release();
  const path = short(dataPath(root, hash, threadId));
  expect(await problems()).toEqual([{ path, line: 1 }]);
});

test("damage to the records of an earlier version is reported by line", async () => {
  const [hash] = hashes;
  const path = infoPath(root, hash, ids[0]);
  for (const after of [0, 1, 2]) {
    const payload = { key: `${ids[0]}:coder:1`, entry: { after }, after };
    const event = { tag: "QK4DX8TM", content: "journal", timestamp: 1, type: "journal" };
    const line = JSON.stringify({ ...event, stepID: null, payload, seq: 100 + after });
    appendFileSync(path, `${sealed(line, firstSum).text}\n`);
  }
  expect(await problems()).toEqual([]);
  const lines = readFileSync(path, "utf8").split("\n");
  const first = lines.findIndex((line) => line.includes('"type":"journal"'));
  writeFileSync(
    path,
    lines.with(first, (lines[first] as string).replace('"entry"', '"entrx"')).join("\n"),
  );
  expect(await problems()).toEqual([{ path: short(path), line: first + 1 }]);
  writeFileSync(path, lines.toSpliced(first, 1).join("\n"));
  expect(await named()).toEqual([short(path)]);
});

test("a lost, duplicate, swapped or changed journal record is reported with its line", async () => {
  const ref = { hash: hashes[0], threadId: ids[0] };
  const claim = await new DiskStore(root).claim(ref, { owner: "a test", leaseMs: 60_000 });
  for (const n of [3, 4])
    await claim?.journal(JSON.stringify({ kind: "entry", key: "a", at: 0, entry: n }));
  await claim?.release();
  expect(await problems()).toEqual([]);
  const path = journalPath(root, ref.hash, ref.threadId);
  const lines = readFileSync(path, "utf8").split("\n");
  const at = (n: number) => lines[n] as string;
  for (const [changed, line] of [
    [lines.toSpliced(1, 1), 2],
    [lines.toSpliced(1, 0, at(1)), 3],
    [lines.with(1, at(2)).with(2, at(1)), 2],
    [lines.with(2, at(2).replace(":3", ":7")), 3],
  ] as const) {
    writeFileSync(path, changed.join("\n"));
    expect(await problems()).toEqual([{ path: short(path), line }]);
  }
});

test("a missing or damaged id of the storage root is reported", async () => {
  writeFileSync(identityPath(root), "{}");
  expect(await named()).toEqual(["identity.json"]);
  rmSync(identityPath(root));
  expect(await named()).toEqual(["identity.json"]);
});

test("a due entry in the folder of a wrong hour is reported", async () => {
  const path = duePath(root, due[0] as (typeof due)[0]);
  const other = join(dirname(duePath(root, due[1] as (typeof due)[0])), basename(path));
  renameSync(path, other);
  expect(await named()).toContain(short(other));
});

test("leftovers of a crash are not a problem: an extra due entry, and a temporary file", async () => {
  addDue(root, { ...(due[0] as (typeof due)[0]), at: Date.now() + 9 * hour });
  addDue(root, { ...(due[0] as (typeof due)[0]), threadId: "01KQXKW18CT8G75T53R8F4G7YE" });
  appendFileSync(join(root, ".workflow.yaml.0123abcd.tmp"), "x", { mode: 0o600 });
  expect(await problems()).toEqual([]);
  expect(readdirSync(root)).toContain("due");
});
