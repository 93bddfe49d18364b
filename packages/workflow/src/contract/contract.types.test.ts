// Tsc checks that the types of the minimal contract, written here independently, and the exported types are compatible.
import { expect, test } from "bun:test";
import { durable } from "../durable/durable.ts";
import { createRoleModerator } from "../moderator/moderator.ts";
import { runThread } from "../testing/run-thread.ts";
import { type Descriptor, END, type WorkflowFn } from "./contract.ts";

type RfcOutput = { role: string; content: string; meta: Record<string, unknown> };
type RfcResult = { returnCode: number; summary: string };
type RfcWorkflow = (
  input: { prompt: string; steps: RfcOutput[] },
  options: { threadId: string; maxRounds: number },
) => AsyncGenerator<RfcOutput, RfcResult>;

const descriptor = {
  description: "Counts the earlier steps",
  roles: { counter: { description: "Counts", schema: { type: "object" } } },
};

test("a workflow of the minimal contract type-checks and runs", async () => {
  const rfc: RfcWorkflow = async function* (input) {
    yield { role: "counter", content: String(input.steps.length), meta: { prompt: input.prompt } };
    return { returnCode: 0, summary: "counted" };
  };
  const ours: WorkflowFn = rfc;
  const described: Descriptor = descriptor;
  const outcome = await runThread(ours, { prompt: "it" });
  expect(outcome.steps[0]).toMatchObject({ content: "0", meta: { prompt: "it" } });
  expect(described).toBe(descriptor);
});

test("workflows made by helpers run under a driver of the minimal contract", async () => {
  const made: RfcWorkflow[] = [
    createRoleModerator({
      roles: { a: async () => ({ content: "hi", meta: {} }) },
      moderator: (ctx) => (ctx.steps.length === 0 ? "a" : END),
    }),
    durable(async function* (step) {
      return yield* step("a", () => "hi");
    }),
  ];
  for (const run of made) {
    const outputs: RfcOutput[] = [];
    const thread = run({ prompt: "", steps: [] }, { threadId: "T", maxRounds: 5 });
    for await (const output of thread) outputs.push(output);
    expect(outputs).toEqual([{ role: "a", content: "hi", meta: {} }]);
  }
});
