import { afterEach, beforeEach, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hash, leaseMs, question, running, startRecord, step } from "../store/store-trial.ts";
import { addDue, listDue } from "./due.ts";
import { dataPath, type Root } from "./paths.ts";
import { openRoot } from "./root.ts";
import { DiskStore } from "./store.ts";

let root: Root;
let path: string;
beforeEach(() => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "uw-runnable-")) });
  path = dataPath(root, ref.hash, ref.threadId);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const ref = { hash, threadId: "01KQXKW18CT8G75T53R8F4G7YG" };
const own = { owner: "test", leaseMs };
const timesOf = () => listDue(root, Number.POSITIVE_INFINITY).map(({ at }) => at);

/** Opens a store whose previous process was lost before it removed the due entry of a continued thread. */
async function afterLoss() {
  const at = Date.now() - 1000;
  const first = new DiskStore(root);
  const records = [startRecord(ref, at)];
  await first.create({ ...ref, name: "test", createdAt: at, state: running, records });
  const claim = await first.claim(ref, own);
  const asleep = question(at);
  await claim?.append(asleep.record, asleep.state);
  const awake = step("goes on");
  await claim?.append(awake.record, awake.state);
  await claim?.release();
  expect(timesOf()).toEqual([]);
  addDue(root, { ...ref, at });
  await first.close();
  const store = new DiskStore(root, { distrustsCache: true });
  const due = (now: number) => store.runnable({ now, limit: 9, onlyDue: true });
  return { store, due };
}

test("the due entry of a continued thread is removed after its log is renewed", async () => {
  const { store, due } = await afterLoss();
  const { ino } = statSync(path);
  const text = readFileSync(path, "utf8");
  expect(await due(Date.now())).toEqual([]);
  expect(timesOf()).toEqual([]);
  expect(statSync(path).ino).not.toBe(ino);
  expect(readFileSync(path, "utf8")).toBe(text);
  await store.close();
});

test("the due entry of a continued thread is postponed while its log has a torn tail", async () => {
  const { store, due } = await afterLoss();
  appendFileSync(path, '{"role":');
  expect(await due(Date.now())).toEqual([]);
  const [postponed = 0] = timesOf();
  expect(postponed).toBeGreaterThan(Date.now());
  await (await store.claim(ref, own))?.release();
  expect(await due(postponed)).toEqual([]);
  expect(timesOf()).toEqual([]);
  await store.close();
});
