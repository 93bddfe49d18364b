import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Files } from "../system/port.ts";
import { system, useSystem } from "../system/system.ts";
import { blobsNamedIn } from "../record/blob-names.ts";
import { copyBlobs, threadBlobs } from "./blobs.ts";
import { blobsDir } from "./paths.ts";
import { openRoot } from "./root.ts";

const hash = "EYHPV6X8XHTCS";
const [threadId, other] = ["01KQXKW18CT8G75T53R8F4G7YG", "01KQXKW18CT8G75T53R8F4G7YH"];
const bytesOf = (text: string) => new TextEncoder().encode(text);

let root: ReturnType<typeof openRoot>;
let folder: string;
beforeEach(() => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "uw-blobs-")) });
  folder = blobsDir(root, hash, threadId);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("a blob is a file readable only by its owner, under the hash of its bytes", async () => {
  const blobs = threadBlobs(root, hash, threadId);
  expect(await blobs.ids()).toEqual([]);
  const id = await blobs.put(bytesOf("as it was"));
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(await blobs.get(String(id))).toEqual(bytesOf("as it was"));
  expect(readdirSync(folder)).toEqual([String(id)]);
  expect([statSync(folder).mode & 0o777, statSync(join(folder, String(id))).mode & 0o777]).toEqual([
    0o700, 0o600,
  ]);
  const { mtimeMs } = statSync(join(folder, String(id)));
  const again = threadBlobs(root, hash, threadId);
  expect(await again.put(bytesOf("as it was"))).toBe(id);
  expect(statSync(join(folder, String(id))).mtimeMs).toBe(mtimeMs);
  expect(await again.ids()).toEqual([String(id)]);
});

test("blobs stored concurrently are all kept, even if they have the same bytes", async () => {
  const blobs = threadBlobs(root, hash, threadId);
  const puts = Array.from({ length: 40 }, (_, n) => blobs.put(bytesOf(String(n % 20))));
  const ids = await Promise.all(puts);
  expect(new Set(ids).size).toBe(20);
  expect(new Set(await blobs.ids())).toEqual(new Set(ids.map(String)));
  expect(readdirSync(folder)).toHaveLength(20);
});

test("invalid and unknown ids return null", async () => {
  const blobs = threadBlobs(root, hash, threadId);
  writeFileSync(join(root, "secret"), "secret");
  expect(await blobs.get("../../../secret")).toBeNull();
  expect(await blobs.get("0".repeat(32))).toBeNull();
  const id = String(await blobs.put(bytesOf("x")));
  expect(await threadBlobs(root, hash, other).get(id)).toBeNull();
});

test("damage is reported, and repaired by storing the same bytes again", async () => {
  const blobs = threadBlobs(root, hash, threadId);
  const id = String(await blobs.put(bytesOf("as it was")));
  writeFileSync(join(folder, id), "as it wax");
  expect(blobs.get(id)).rejects.toMatchObject({ code: "BLOB_DAMAGED" });
  expect(await threadBlobs(root, hash, threadId).put(bytesOf("as it was"))).toBe(id);
  expect(await blobs.get(id)).toEqual(bytesOf("as it was"));
});

test("a symbolic link in place of a blob is not followed", async () => {
  const blobs = threadBlobs(root, hash, threadId);
  const id = String(await blobs.put(bytesOf("mine")));
  rmSync(join(folder, id));
  writeFileSync(join(root, "secret"), "mine");
  symlinkSync(join(root, "secret"), join(folder, id));
  expect(blobs.get(id)).rejects.toMatchObject({ code: "PLANTED_LINK" });
});

test("the bytes are synced before the file gets its name, and its folder is synced before the id is returned", async () => {
  const order: string[] = [];
  const own = system.files;
  const files: Files = {
    ...own,
    syncDataLater: async (fd) => {
      await own.syncDataLater(fd);
      order.push("bytes");
    },
    rename(from, to) {
      own.rename(from, to);
      order.push("name");
    },
    syncFolder(path) {
      own.syncFolder(path);
      if (path === folder) order.push("folder");
    },
  };
  const before = useSystem({ ...system, files });
  try {
    await threadBlobs(root, hash, threadId).put(bytesOf("x"));
  } finally {
    useSystem(before);
  }
  expect(order).toEqual(["bytes", "name", "folder"]);
});

test("a fork copies only the blobs that its steps name", async () => {
  const blobs = threadBlobs(root, hash, threadId);
  const [one, two] = [await blobs.put(bytesOf("1")), await blobs.put(bytesOf("2"))].map(String);
  const copied = threadBlobs(root, hash, other);
  const copy = (content: string, meta: Record<string, unknown>) => {
    const ids = blobsNamedIn({ role: "a", timestamp: 0, content, meta });
    copyBlobs(root, { ref: { hash, threadId }, ids }, { hash, threadId: other });
  };
  copy("none", { sum: `${one}${two}` });
  expect(await copied.ids()).toEqual([]);
  copy("one", { variables: [{ value: one }] });
  expect(await copied.ids()).toEqual([String(one)]);
  copy(`undo ${two} and ${"0".repeat(32)}`, {});
  expect(await copied.get(String(two))).toEqual(bytesOf("2"));
});
