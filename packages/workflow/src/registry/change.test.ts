import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError } from "../contract/error.ts";
import { registryPath, type Root } from "../disk/paths.ts";
import { openRoot } from "../disk/root.ts";
import { changeRegistry } from "./change.ts";
import { readRegistry } from "./read.ts";
import { backupPath } from "../disk/paths.ts";
import { maxRegistryBytes, serialiseRegistry, type Workflow } from "./registry.ts";
import { register } from "./versions.ts";

const [A, B] = ["A".repeat(13), "B".repeat(13)];
let root: Root;
beforeEach(() => {
  root = openRoot({ path: join(mkdtempSync(join(tmpdir(), "change-")), "root") });
});
afterEach(() => rmSync(join(root, ".."), { recursive: true, force: true }));

const add = (name: string, hash: string) =>
  changeRegistry(root, (registry) => register(registry, name, hash, 1));

test("the first change creates the root, readable only by its owner", async () => {
  await add("one", A);
  expect(statSync(root).mode & 0o777).toBe(0o700);
  expect(statSync(registryPath(root)).mode & 0o777).toBe(0o600);
  expect((await readRegistry(root)).get("one")?.hash).toBe(A);
});

test("a change keeps the previous text", async () => {
  await add("one", A);
  const before = readFileSync(registryPath(root), "utf8");
  expect(readFileSync(backupPath(root), "utf8")).toBe(serialiseRegistry(new Map()));
  await add("one", B);
  expect(readFileSync(backupPath(root), "utf8")).toBe(before);
});

test("an empty change writes and syncs the same text, and keeps the backup", async () => {
  await add("one", A);
  await add("one", B);
  const texts = () =>
    [registryPath(root), backupPath(root)].map((path) => readFileSync(path, "utf8"));
  const before = texts();
  const { ino } = statSync(registryPath(root));
  expect((await add("one", B)).unchanged).toBe(true);
  expect(texts()).toEqual(before);
  // The file is new: bytes that an earlier change failed to sync are not reused.
  expect(statSync(registryPath(root)).ino).not.toBe(ino);
});

test("an edited registry is readable, and can't be changed until its sum is deleted", async () => {
  await add("one", A);
  await add("one", B);
  const text = readFileSync(registryPath(root), "utf8");
  const edited = text.replace(A, "C".repeat(13));
  writeFileSync(registryPath(root), edited);
  expect((await readRegistry(root)).get("one")?.history[0]?.hash).toBe("C".repeat(13));
  const error = await add("one", A).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "REGISTRY_CHANGED", kind: "failed" });
  expect((error as Error).message).toStartWith(`${registryPath(root)}:1:6: `);
  expect(readFileSync(registryPath(root), "utf8")).toBe(edited);
  writeFileSync(registryPath(root), edited.slice(edited.indexOf("\n") + 1));
  expect((await add("one", A)).unchanged).toBe(false);
});

test("a change that throws writes nothing and frees the lock", async () => {
  await add("one", A);
  const before = readFileSync(registryPath(root), "utf8");
  const failed = changeRegistry(root, () => Promise.reject(new Error("no")));
  expect(await failed.catch(String)).toBe("Error: no");
  expect(readFileSync(registryPath(root), "utf8")).toBe(before);
  await add("two", B);
});

test("a registry over the size limit is not written", async () => {
  await add("one", A);
  const before = readFileSync(registryPath(root), "utf8");
  const entry = (i: number): [string, Workflow] => [
    `w${i}`.padEnd(64, "x"),
    { hash: A, timestamp: 1, history: [] },
  ];
  const registry = new Map(Array.from({ length: maxRegistryBytes / 120 }, (_, i) => entry(i)));
  const error: unknown = await changeRegistry(root, () => ({ registry })).catch((e: unknown) => e);
  expect(isWorkflowError(error) && error.code).toBe("REGISTRY_FULL");
  expect(readFileSync(registryPath(root), "utf8")).toBe(before);
});

test("concurrent changes in one process are all kept", async () => {
  const names = Array.from({ length: 20 }, (_, i) => `w${i}`);
  await Promise.all(names.map((name) => add(name, A)));
  expect([...(await readRegistry(root)).keys()].toSorted()).toEqual(names.toSorted());
  expect(readdirSync(root).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});
