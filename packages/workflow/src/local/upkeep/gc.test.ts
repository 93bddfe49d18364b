import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { putBundle, readBundle } from "../../bundle/store.ts";
import { isWorkflowError } from "../../contract/error.ts";
import { changeRegistry } from "../../registry/change.ts";
import { register } from "../../registry/versions.ts";
import { threadBlobs } from "../../disk/blobs.ts";
import { takeLock } from "../../disk/lock.ts";
import {
  blobsDir,
  bundleFiles,
  bundlePath,
  bundlesDir,
  dataPath,
  infoPath,
  lockPath,
  registryPath,
  type Root,
  trashDir,
  valuesPath,
  runDir,
} from "../../disk/paths.ts";
import { openRoot } from "../../disk/root.ts";
import { collectGarbage } from "./gc.ts";
import { removeWorkflow } from "../workflows.ts";

const [one, two] = ["01KQXKW18CT8G75T53R8F4G7YG", "01KQXKW18CT8G75T53R8F4G7YH"];
const three = "01KQXKW18CT8G75T53R8F4G7YJ";
const twoHoursAgo = new Date(Date.now() - 7_200_000);
const dayMs = 86_400_000;

let root: Root;
beforeEach(() => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "gc-")) });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Stores a bundle with an age of two hours. */
async function store(text: string): Promise<string> {
  const hash = await storeNow(text);
  for (const path of bundleFiles(root).get(hash) ?? []) utimesSync(path, twoHoursAgo, twoHoursAgo);
  return hash;
}

const storeNow = (text: string) =>
  putBundle(root, new TextEncoder().encode(text), { descriptor: { description: text, roles: {} } });

async function add(name: string, text: string): Promise<string> {
  const hash = await store(text);
  await changeRegistry(root, (registry) => register(registry, name, hash, Date.now()));
  return hash;
}

function write(path: string, text: string, time?: Date): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, text, { mode: 0o600 });
  if (time) utimesSync(path, time, time);
  return path;
}

const tree = () => readdirSync(root, { recursive: true }).map(String).toSorted();
const hashes = () =>
  readdirSync(bundlesDir(root))
    .filter((name) => name.endsWith(".esm.js"))
    .map((name) => name.slice(0, 13))
    .toSorted();

describe("a bundle stays when it is needed by", () => {
  test("a name", async () => {
    const hash = await add("w", "a");
    expect(await collectGarbage(root)).toMatchObject({ removed: [], kept: 1, bytes: 0 });
    expect(hashes()).toEqual([hash]);
  });

  test("a history", async () => {
    const both = [await add("w", "a"), await add("w", "b")];
    expect(await collectGarbage(root)).toMatchObject({ removed: [], kept: 2 });
    expect(hashes()).toEqual(both.toSorted());
  });

  test("a thread of a removed name", async () => {
    const hash = await add("w", "a");
    write(dataPath(root, hash, one), "{}\n", twoHoursAgo);
    await removeWorkflow(root, "w");
    expect(await collectGarbage(root)).toMatchObject({ removed: [], kept: 1 });
    expect(hashes()).toEqual([hash]);
  });

  test("a thread whose log is broken", async () => {
    const hash = await store("a");
    write(dataPath(root, hash, one), "not a record", twoHoursAgo);
    expect((await collectGarbage(root)).removed).toEqual([]);
  });

  test("a client that stored it recently, before its start", async () => {
    const hash = await storeNow("a");
    expect(await collectGarbage(root, { dryRun: true })).toMatchObject({ removed: [], kept: 1 });
    expect(await collectGarbage(root)).toMatchObject({ removed: [], kept: 1 });
    const later = await collectGarbage(root, { now: Date.now() + 7_200_000 });
    expect(later.removed).toEqual([hash]);
  });

  test("a live worker, even in a dry run", async () => {
    const hash = await store("a");
    mkdirSync(join(root, "run"));
    const lock = takeLock(lockPath(root, hash), 0);
    expect(await collectGarbage(root, { dryRun: true })).toMatchObject({ removed: [], kept: 1 });
    expect(await collectGarbage(root)).toMatchObject({ removed: [], kept: 1 });
    lock?.release();
    expect((await collectGarbage(root)).removed).toEqual([hash]);
  });
});

test("an unused bundle goes to the trash with the files beside it", async () => {
  const kept = await add("w", "kept");
  const hash = await store("not needed");
  const now = Date.now();
  const garbage = await collectGarbage(root, { now });
  expect(garbage).toMatchObject({ removed: [hash], kept: 1 });
  expect(garbage.bytes).toBeGreaterThan("not needed".length);
  expect(hashes()).toEqual([kept]);
  const folder = join(trashDir(root), `${now}-${hash}`);
  expect(readdirSync(folder).toSorted()).toEqual([`${hash}.esm.js`, `${hash}.yaml`]);
  for (const name of readdirSync(folder)) {
    renameSync(join(folder, name), join(bundlesDir(root), name));
  }
  expect(new TextDecoder().decode(await readBundle(root, hash))).toBe("not needed");
});

test("the trash is emptied only of entries older than a day", async () => {
  const first = await store("a");
  const now = Date.now();
  await collectGarbage(root, { now });
  const second = await store("b");
  await collectGarbage(root, { now: now + dayMs });
  const mine = write(join(trashDir(root), "notes"), "mine");
  const later = await collectGarbage(root, { now: now + dayMs + 1 });
  expect(later.emptied).toEqual([join(trashDir(root), `${now}-${first}`)]);
  expect(readdirSync(trashDir(root)).toSorted()).toEqual([`${now + dayMs}-${second}`, "notes"]);
  expect(readFileSync(mine, "utf8")).toBe("mine");
});

test("a dry run reports the same garbage and writes nothing", async () => {
  await add("w", "kept");
  await store("not needed");
  write(join(root, ".workflow.yaml.0123abcd.tmp"), "half", twoHoursAgo);
  const before = tree();
  const planned = await collectGarbage(root, { dryRun: true });
  expect(tree()).toEqual(before);
  expect(await collectGarbage(root)).toEqual(planned);
});

test("files left by crashes are deleted after an hour, not sooner", async () => {
  const hash = await add("w", "a");
  const old = [
    write(join(root, ".workflow.yaml.0123abcd.tmp"), "half", twoHoursAgo),
    write(join(bundlesDir(root), `.${hash}.yaml.0123abcd.tmp`), "half", twoHoursAgo),
    write(join(root, "logs", hash, `.${one}.torn-7.0123abcd.tmp`), "half", twoHoursAgo),
    write(dataPath(root, hash, one), "", twoHoursAgo),
    write(infoPath(root, hash, one), "{}\n", twoHoursAgo),
    write(valuesPath(root, hash, one), "[]\n", twoHoursAgo),
    write(valuesPath(root, hash, three), "[]\n", twoHoursAgo),
  ];
  const fresh = [
    write(join(root, ".workflow.yaml.4567abcd.tmp"), "half"),
    write(dataPath(root, hash, two), ""),
    write(join(root, ".mine.tmp"), "mine", twoHoursAgo),
  ];
  const { leftovers } = await collectGarbage(root);
  expect(leftovers.toSorted()).toEqual(old.toSorted());
  expect(old.filter(existsSync)).toEqual([]);
  expect(fresh.filter(existsSync)).toEqual(fresh);
});

test("shared values are deleted after a day without a change", async () => {
  const dayAgo = new Date(Date.now() - 25 * 3_600_000);
  const unused = write(join(runDir(root), `${"0".repeat(32)}.shared`), "{}", dayAgo);
  const used = write(join(runDir(root), `${"1".repeat(32)}.shared`), "{}", twoHoursAgo);
  const { leftovers } = await collectGarbage(root, { dryRun: true });
  expect([leftovers, existsSync(unused)]).toEqual([[unused], true]);
  expect((await collectGarbage(root)).leftovers).toEqual([unused]);
  expect([existsSync(unused), existsSync(used)]).toEqual([false, true]);
});

test("blobs of a removed thread are deleted after an hour, blobs of an existing thread never", async () => {
  const hash = await add("w", "a");
  write(dataPath(root, hash, one), "{}\n", twoHoursAgo);
  for (const threadId of [one, two, three]) {
    const [id] = await keep(hash, threadId);
    const folder = blobsDir(root, hash, threadId);
    write(join(folder, `.${id}.0123abcd.tmp`), "half", twoHoursAgo);
    if (threadId !== three) utimesSync(folder, twoHoursAgo, twoHoursAgo);
  }
  const { leftovers } = await collectGarbage(root, { dryRun: true });
  const [id] = await keep(hash, one);
  const left = blobsDir(root, hash, one);
  expect(leftovers).toContain(join(left, `.${id}.0123abcd.tmp`));
  expect(leftovers).toContain(blobsDir(root, hash, two));
  expect(leftovers).not.toContain(blobsDir(root, hash, three));
  await collectGarbage(root);
  expect(readdirSync(left)).toEqual([String(id)]);
  expect(existsSync(blobsDir(root, hash, two))).toBe(false);
  expect(existsSync(blobsDir(root, hash, three))).toBe(true);
});

async function keep(hash: string, threadId: string): Promise<string[]> {
  const blobs = threadBlobs(root, hash, threadId);
  await blobs.put(new TextEncoder().encode("old"));
  return await blobs.ids();
}

test("the log of a thread that never started does not keep its bundle, unless its worker is alive", async () => {
  const hash = await store("a");
  const log = write(dataPath(root, hash, one), "", twoHoursAgo);
  mkdirSync(join(root, "run"));
  const lock = takeLock(lockPath(root, hash), 0);
  expect((await collectGarbage(root)).removed).toEqual([]);
  expect(existsSync(log)).toBe(true);
  lock?.release();
  expect((await collectGarbage(root)).removed).toEqual([hash]);
  expect(existsSync(dirname(log))).toBe(false);
});

test("a descriptor without a bundle is collected", async () => {
  const hash = await store("a");
  rmSync(bundlePath(root, hash));
  expect((await collectGarbage(root)).removed).toEqual([hash]);
  expect(readdirSync(bundlesDir(root))).toEqual([]);
});

test("unknown files in bundles/ are left alone", async () => {
  const mine = write(join(bundlesDir(root), "notes.txt"), "mine", twoHoursAgo);
  await collectGarbage(root);
  expect(existsSync(mine)).toBe(true);
});

test("with a broken registry nothing is collected", async () => {
  const hash = await add("w", "a");
  writeFileSync(registryPath(root), "workflows: [");
  const error = await collectGarbage(root).catch((thrown: unknown) => thrown);
  expect(isWorkflowError(error) && error.code).toBe("REGISTRY_BROKEN");
  expect(hashes()).toEqual([hash]);
});

test("a link in place of the trash is not followed", async () => {
  const hash = await store("a");
  const elsewhere = mkdtempSync(join(tmpdir(), "elsewhere-"));
  symlinkSync(elsewhere, trashDir(root));
  const error = await collectGarbage(root).catch((thrown: unknown) => thrown);
  expect(isWorkflowError(error) && error.code).toBe("PLANTED_LINK");
  expect(hashes()).toEqual([hash]);
  expect(readdirSync(elsewhere)).toEqual([]);
  rmSync(elsewhere, { recursive: true });
});

test("a missing storage root has no garbage and is not created", async () => {
  const missing = openRoot({ path: join(root, "missing") });
  expect(await collectGarbage(missing)).toMatchObject({ removed: [], kept: 0 });
  expect(existsSync(missing)).toBe(false);
});
