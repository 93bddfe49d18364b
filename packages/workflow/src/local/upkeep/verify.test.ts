import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { putBundle } from "../../bundle/store.ts";
import { sealedLogOf } from "../../../test/fixtures/records.ts";
import { changeRegistry } from "../../registry/change.ts";
import { register } from "../../registry/versions.ts";
import { threadBlobs } from "../../disk/blobs.ts";
import {
  blobsDir,
  bundlePath,
  bundlesDir,
  dataPath,
  descriptorPath,
  registryPath,
  serverPath,
  type Root,
} from "../../disk/paths.ts";
import { openRoot } from "../../disk/root.ts";
import { verifyStore } from "./verify.ts";

const thread = "01KQXKW18CT8G75T53R8F4G7YG";
const step = '{"role":"planner","content":"plan","meta":{},"timestamp":2}\n';

let root: Root;
let hash: string;
beforeEach(async () => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "verify-")) });
  const descriptor = { description: "a test", roles: {} };
  hash = await putBundle(root, new TextEncoder().encode("a bundle"), { descriptor });
  await changeRegistry(root, (registry) => register(registry, "w", hash, 1));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const startOf = (threadId: string) =>
  `${JSON.stringify({
    name: "w",
    hash,
    threadId,
    parameters: { prompt: "p", options: { maxRounds: 5 } },
    timestamp: 1,
  })}\n`;

function writeLog(text: string, threadId = thread): string {
  const path = dataPath(root, hash, threadId);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

const tree = () => readdirSync(root, { recursive: true }).map(String).toSorted();
const problems = async () => (await verifyStore(root)).problems;

test("a sound store has no problems, and verify reads all of it", async () => {
  writeLog(startOf(thread) + step);
  const seen: number[] = [];
  const onProgress = (checked: { bundles: number; threads: number }) =>
    seen.push(checked.bundles + checked.threads);
  expect(await verifyStore(root, { onProgress })).toEqual({
    checked: { bundles: 1, threads: 1 },
    problems: [],
    withoutSums: [thread],
  });
  expect(seen).toEqual([1, 2]);
});

test("logs with and without checksums are distinguished, and a server address is not a problem", async () => {
  writeLog(sealedLogOf(startOf(thread).trim(), step.trim()).toString());
  writeFileSync(serverPath(root), "{}", { mode: 0o600 });
  expect(await verifyStore(root)).toMatchObject({ problems: [], withoutSums: [] });
});

test("a missing storage root has no problems and is not created", async () => {
  const missing = openRoot({ path: join(root, "missing") });
  expect((await verifyStore(missing)).problems).toEqual([]);
  expect(existsSync(missing)).toBe(false);
});

test("a bundle that was edited in place is reported", async () => {
  appendFileSync(bundlePath(root, hash), " ");
  const [problem, ...others] = await problems();
  expect(others).toEqual([]);
  expect(problem?.path).toBe(bundlePath(root, hash));
});

test("a missing bundle that a name or a thread needs is reported", async () => {
  rmSync(bundlePath(root, hash));
  rmSync(descriptorPath(root, hash));
  expect(await problems()).toEqual([
    { path: bundlePath(root, hash), message: "the bundle is missing: a version of w" },
  ]);
  writeFileSync(registryPath(root), "workflows: {}\n");
  writeLog(startOf(thread));
  expect(await problems()).toEqual([
    { path: bundlePath(root, hash), message: "the bundle is missing: a thread needs it" },
  ]);
});

test("a missing, broken or replaced descriptor is reported", async () => {
  const path = descriptorPath(root, hash);
  writeFileSync(path, "description: a\nroles: [\n");
  expect(await problems()).toMatchObject([{ path, line: 3 }]);
  writeFileSync(path, "description: 7\nroles: {}\n");
  expect(await problems()).toMatchObject([{ path }]);
  rmSync(path);
  expect(await problems()).toMatchObject([{ path, message: expect.stringContaining("missing") }]);
});

test("a broken registry is reported with its line, and the rest is read", async () => {
  const path = registryPath(root);
  writeFileSync(path, "workflows:\n  w: 7\n");
  appendFileSync(bundlePath(root, hash), " ");
  const found = await problems();
  expect(found.map((problem) => problem.path)).toEqual([path, bundlePath(root, hash)]);
  expect(found[0]).toMatchObject({ line: 2, message: "w is not a map of keys and values" });
});

test("a broken line in a log is reported with line and offset", async () => {
  const start = startOf(thread);
  const path = writeLog(`${start}no record\n${step}`);
  expect(await problems()).toMatchObject([{ path, line: 2, offset: start.length }]);
});

test("a log truncated anywhere but at the end of a record is reported", async () => {
  const [start, whole] = [startOf(thread), startOf(thread) + step];
  const path = writeLog(whole);
  for (let length = whole.length - 2; length > start.length; length -= 17) {
    truncateSync(path, length);
    expect(await problems()).toMatchObject([{ path, line: 2, offset: start.length }]);
  }
  truncateSync(path, start.length);
  expect(await problems()).toEqual([]);
});

test("a log under another thread's name is reported", async () => {
  const path = writeLog(startOf("01KQXKW18CT8G75T53R8F4G7YH"));
  expect(await problems()).toMatchObject([
    { path, line: 1, message: expect.stringContaining("names the thread") },
  ]);
});

test("a log that is being written is not a problem", async () => {
  const path = writeLog(startOf(thread) + step.slice(0, 20));
  const verifying = verifyStore(root);
  appendFileSync(path, step.slice(20));
  expect((await verifying).problems).toEqual([]);
});

test("unknown files are reported", async () => {
  writeLog(startOf(thread));
  const paths = [
    join(root, "notes"),
    join(bundlesDir(root), "x.esm.js"),
    join(root, "logs", "x"),
    join(root, "logs", hash, "x.data.jsonl"),
    join(root, "run", "x.sock"),
  ];
  for (const path of paths) writeFileSync(path, "", { mode: 0o600 });
  const found = await problems();
  expect(found.map(({ path }) => path).toSorted()).toEqual(paths.toSorted());
});

test("links and FIFOs in place of known files are reported, and not read", async () => {
  const log = writeLog(startOf(thread));
  rmSync(log);
  Bun.spawnSync(["mkfifo", "-m", "600", log]);
  const descriptor = descriptorPath(root, hash);
  rmSync(descriptor);
  symlinkSync("/etc/hostname", descriptor);
  const found = await problems();
  expect(found.find(({ path }) => path === log)?.message).toBe("is a special file, not a file");
  expect(found.find(({ path }) => path === descriptor)?.message).toBe(
    "is a symbolic link, not a file",
  );
});

test("files open to other users are reported, with a fix", async () => {
  const log = writeLog(startOf(thread));
  chmodSync(log, 0o644);
  chmodSync(bundlesDir(root), 0o755);
  expect(await problems()).toEqual([
    { path: bundlesDir(root), message: "is open to other users (mode 755): chmod 700" },
    { path: log, message: "is open to other users (mode 644): chmod 600" },
  ]);
});

test("nothing is changed", async () => {
  const log = writeLog(startOf(thread) + step.slice(0, 5));
  const look = () => [tree(), statSync(log).size];
  const before = look();
  await problems();
  expect(look()).toEqual(before);
});

test("the blobs of a thread are read, and unknown files among them are reported", async () => {
  writeLog(startOf(thread) + step);
  const folder = blobsDir(root, hash, thread);
  const id = String(await threadBlobs(root, hash, thread).put(new TextEncoder().encode("old")));
  expect(await problems()).toEqual([]);
  writeFileSync(join(folder, id), "odd");
  writeFileSync(join(folder, "mine.txt"), "", { mode: 0o600 });
  expect(await problems()).toEqual([
    { path: join(folder, "mine.txt"), message: "is not a known file" },
    { path: join(folder, id), message: "bytes differ from the stored value" },
  ]);
});
