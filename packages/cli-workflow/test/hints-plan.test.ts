import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { leadsOn, unled } from "./hints/leads.ts";
import { plans } from "./hints/plans.ts";
import { PlanStore } from "./planned.ts";
import { removeFolders } from "./program.ts";

setDefaultTimeout(180_000);
let store: PlanStore;
beforeAll(async () => void (store = await PlanStore.open()));
afterAll(async () => {
  await store.killWorkers();
  await store.stop();
  removeFolders();
});

describe("each hint of plans leads on", () => {
  for (const [name, situation] of Object.entries(plans))
    test(name, () => leadsOn(store, situation));
});

test("each hint of plans was shown in a state, and led on", () => {
  expect(unled("plans", {})).toEqual([]);
});
