import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hash, question, running, startRecord, step } from "../store/store-trial.ts";
import { addDue, listDue } from "./due.ts";
import { openRoot } from "./root.ts";
import { DiskStore } from "./store.ts";

const root = openRoot({ path: mkdtempSync(join(tmpdir(), "uw-runnable-")) });
afterEach(() => rmSync(root, { recursive: true, force: true }));

const ref = { hash, threadId: "01KQXKW18CT8G75T53R8F4G7YG" };
const own = { owner: "test", leaseMs: 60_000 };
const timesOf = () => listDue(root, Number.POSITIVE_INFINITY).map(({ at }) => at);

test("the entry of a thread that goes on stays until its log can be trusted", async () => {
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
  // Like a worker that was lost before it removed the entry.
  addDue(root, { ...ref, at });
  await first.close();

  const next = new DiskStore(root, { distrustsCache: true });
  const due = async (now: number) => await next.runnable({ now, limit: 9, onlyDue: true });
  expect(await due(Date.now())).toEqual([]);
  const [postponed = 0] = timesOf();
  expect(postponed).toBeGreaterThan(Date.now());
  await (await next.claim(ref, own))?.release();
  expect(await due(postponed)).toEqual([]);
  expect(timesOf()).toEqual([]);
  await next.close();
});
