import { expect, test } from "bun:test";
import type { RoleOutput, WorkflowOptions } from "@uncaged/workflow";
import type { WorkflowDocument } from "../document/format.ts";
import { stepsBundle } from "./bundle.ts";

const fanOut: WorkflowDocument = {
  version: "3.18",
  name: "Fan",
  registry: { vars: ["$seen(ARRAY)"] },
  steps: [
    { id: "Loop_Each", source: [0, 1, 2, 3, 4, 5], mode: "parallel", children: ["Busy_One"] },
    { id: "Busy_One", next: "RETURN" },
  ],
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Returns the maximum number of concurrent handlers and the roles of the thread's steps. */
async function ran(options: Partial<WorkflowOptions>): Promise<{ most: number; steps: number }> {
  let working = 0;
  let most = 0;
  const Busy = async () => {
    working += 1;
    most = Math.max(most, working);
    await turn();
    working -= 1;
  };
  const { run } = stepsBundle(fanOut, { customHandlers: { Busy } });
  const steps: RoleOutput[] = [];
  const thread = run({ prompt: "", steps: [] }, { threadId: "T", maxRounds: 100, ...options });
  for await (const step of thread) steps.push(step);
  return { most, steps: steps.length };
}

test("the caller of a thread can limit its concurrency", async () => {
  expect(await ran({})).toEqual({ most: 6, steps: 7 });
  expect(await ran({ maxConcurrency: 2 })).toEqual({ most: 2, steps: 7 });
  expect(await ran({ maxConcurrency: "2" })).toEqual({ most: 6, steps: 7 });
});

test("a thread that is closed at a step starts no further step", async () => {
  let started = 0;
  const Busy = async () => {
    started += 1;
    await turn();
  };
  const { run } = stepsBundle(fanOut, { customHandlers: { Busy }, maxConcurrency: 1 });
  const thread = run({ prompt: "", steps: [] }, { threadId: "T", maxRounds: 100 });
  await thread.next();
  await thread.return({ returnCode: 143, summary: "" });
  for (let turns = 0; turns < 20; turns += 1) await turn();
  expect(started).toBeLessThanOrEqual(2);
});
