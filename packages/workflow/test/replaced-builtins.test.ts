import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { killThread, pauseThread, resumeThread } from "../src/local/control.ts";
import { verifyStore } from "../src/local/verify.ts";
import type { ThreadRef } from "../src/thread/thread.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { until } from "./fixtures/until.ts";

afterEach(removeStores);

const vandal = readFileSync(join(import.meta.dir, "fixtures/vandal.js"), "utf8");
const count = 60;
const steps = Array.from({ length: count }, (_, n) => ({
  role: "count",
  content: `${n}`,
  meta: { n, list: [n, { a: "ä" }], [`key${n}`]: null },
}));

const stepsOf = (store: TestStore, ref: ThreadRef) =>
  store
    .lines(ref)
    .flatMap(({ role, content, meta }) => (role === "count" ? [{ role, content, meta }] : []));

async function expectSound(store: TestStore): Promise<void> {
  expect((await verifyStore(store.root)).problems).toEqual([]);
}

describe("what a bundle makes of the built-ins does not reach the logs of its siblings", () => {
  for (const by of ["throws", "nothing", "garbage"]) {
    test(`when it replaces everything by a function that gives ${by}`, async () => {
      const store = new TestStore();
      const hash = await store.add(vandal);
      const options = { count };
      const refs = await Promise.all([1, 2, 3].map(() => store.start(hash, "", { options })));
      const evil = await store.start(hash, "vandal", { options: { by, after: 60 } });
      await until(() => refs.every((ref) => store.roles(ref).includes("__end__")));
      for (const ref of refs) {
        expect(stepsOf(store, ref)).toEqual(steps);
        expect(store.lines(ref).at(-1)).toMatchObject({ meta: { reason: "returned" } });
      }
      const replaced = store.lines(evil).find(({ role }) => role === "vandal")?.meta?.replaced;
      expect(replaced).toBeGreaterThan(2500);
      await expectSound(store);
    }, 180_000);
  }

  const groups = [
    ["Array.prototype", "Array"],
    ["Buffer.prototype", "Uint8Array.prototype", "Buffer", "TextEncoder.prototype"],
    ["String.prototype", "RegExp.prototype", "Number.prototype", "BigInt.prototype"],
    ["Map.prototype", "Set.prototype", "WeakMap.prototype"],
    ["JSON", "Math", "Number", "Object", "Reflect", "Date", "performance", "crypto"],
  ];
  for (const only of groups) {
    test(`nor those that begin and go on after it: ${only.join(", ")}`, async () => {
      const store = new TestStore();
      const hash = await store.add(vandal);
      const options = { count };
      const asks = await store.start(hash, "asks", { options });
      await store.whenStatus(asks, "waiting");
      const paused = await store.start(hash, "", { options });
      await store.whenSteps(paused, 2);
      await pauseThread(store.root, paused);
      const evil = await store.start(hash, "vandal", {
        options: { by: "garbage", after: 2, only },
      });
      await until(() => store.roles(evil).includes("__end__"));
      const fresh = await store.start(hash, "", { options });
      const dying = await store.start(hash, "", { options: { count: 100_000 } });
      await resumeThread(store.root, asks, { env: {}, input: { content: "yes" } });
      await resumeThread(store.root, paused, { env: {} });
      await killThread(store.root, dying);
      const refs = [asks, paused, fresh, dying];
      await until(() => refs.every((ref) => store.roles(ref).includes("__end__")));
      expect(stepsOf(store, fresh)).toEqual(steps);
      expect(stepsOf(store, paused)).toEqual(steps);
      expect(stepsOf(store, asks)).toEqual(steps.slice(2));
      expect(store.roles(asks).slice(0, 3)).toEqual([undefined, "__wait__", "__input__"]);
      expect(store.lines(dying).at(-1)).toMatchObject({ meta: { reason: "killed" } });
      await expectSound(store);
    }, 180_000);
  }
});

test("a worker whose bundle has replaced everything is ended by kill --force", async () => {
  const store = new TestStore();
  const hash = await store.add(vandal);
  const endless = await store.start(hash, "", { options: { count: 100_000 }, maxRounds: 100_000 });
  const evil = await store.start(hash, "vandal", { options: { by: "garbage", after: 5 } });
  await until(() => store.roles(evil).includes("__end__"));
  await killThread(store.root, endless, { force: true, env: {} });
  expect((await store.read(endless)).status).toBe("killed");
  await expectSound(store);
}, 180_000);
