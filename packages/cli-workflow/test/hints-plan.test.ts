import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { leadsOn, unled } from "./hints/leads.ts";
import { addAsker, models } from "./hints/models.ts";
import { plans } from "./hints/plans.ts";
import { PlanStore } from "./planned.ts";
import { removeFolders } from "./program.ts";

setDefaultTimeout(180_000);
let store: PlanStore;
beforeAll(async () => {
  store = await PlanStore.open();
  store.isHere = true;
  await addAsker(store);
});
afterAll(async () => {
  await store.killWorkers();
  await store.stop();
  removeFolders();
});

describe.each([
  ["plans", plans],
  ["models", models],
] as const)("each hint of %s leads on", (_, situations) => {
  for (const [name, situation] of Object.entries(situations))
    test(name, () => leadsOn(store, situation));
});

test("each hint of plans and models was shown, and its commands work", () => {
  expect(
    unled("plans", {
      "install bubblewrap 0.8 or later, or make the plan again without one: uncaged-workflow plan config set sandbox.mode off":
        "of a machine without any sandbox",
      "wait for it, or cancel it: uncaged-workflow plan cancel …":
        "of two starts at the same moment; in any other the phase refuses, with the same command",
      "the log of its thread is broken: uncaged-workflow verify":
        "stands in a run's row; threads with a broken log are a state of hints.test.ts",
      'uncaged-workflow plan new "every weekday at nine, …"': "an example of the console",
      "start it with uncaged-workflow plan run": "no command brings it about",
      "start it with uncaged-workflow worker": "no command brings it about",
    }),
  ).toEqual([]);
  expect(
    unled("models", {
      "continue with a higher limit: uncaged-workflow retry <thread> --max-cost N, or --max-tokens N":
        "of an answer that a limit cuts off; the same retry is run for a limit that is passed",
      "see what it did: uncaged-workflow logs …; then retry, or ask for an answer in the prompt":
        "of an empty answer of an agent that is a command; the same is run for an answer that does not fit",
    }),
  ).toEqual([]);
});
