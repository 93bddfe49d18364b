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
] as const)("the commands in each hint about %s work", (_, situations) => {
  for (const [name, situation] of Object.entries(situations))
    test(name, () => leadsOn(store, situation));
});

test("each hint about plans and models was tested, except those in this list", () => {
  expect(
    unled("plans", {
      "install bubblewrap 0.8 or later, or make the plan again without one: uncaged-workflow plan config set sandbox.mode off":
        "shown on a machine without any sandbox",
      "wait for it, or cancel it: uncaged-workflow plan cancel …":
        "shown after two simultaneous starts; a later start is refused because of the phase, with the same command",
      "the log of its thread is broken: uncaged-workflow verify":
        "stored in a run's row; hints.test.ts tests threads with a broken log",
      'uncaged-workflow plan new "every weekday at nine, …"': "the console shows it as an example",
      "start it with uncaged-workflow plan run": "no command shows it",
      "start it with uncaged-workflow worker": "no command shows it",
    }),
  ).toEqual([]);
  expect(
    unled("models", {
      "continue with a higher limit: uncaged-workflow retry <thread> --max-cost N, or --max-tokens N":
        "shown when a limit cuts an answer off; the same command is tested for an exceeded limit",
      "see what it did: uncaged-workflow logs …; then retry, or ask for an answer in the prompt":
        "shown for an empty answer of a command agent; the same command is tested for an invalid answer",
    }),
  ).toEqual([]);
});
