import { Agent, tool } from "@openai/agents";
import { durable } from "@uncaged/workflow";
import { durableRunner } from "@uncaged/workflow-agents/openai-agents";
import { z } from "zod";

const refund = tool({
  name: "refund",
  description: "Refunds an order",
  parameters: z.object({ order: z.string(), amount: z.number() }),
  needsApproval: async (_context, { amount }) => amount > 100,
  execute: ({ order, amount }) => `refunded ${amount} for ${order}`,
});
const refunds = new Agent({ name: "Refunds", instructions: "Refund orders.", tools: [refund] });
const triage = Agent.create({
  name: "Triage",
  instructions: "Sort requests.",
  handoffs: [refunds],
});

const runner = durableRunner();

export const descriptor = {
  description: "Answers customers",
  roles: { support: { description: "Refunds orders", schema: true } },
};

export const run = durable(async function* (step, { prompt }) {
  return yield* step("support", async () => {
    const result = await runner.run(triage, prompt);
    return result.finalOutput ?? "";
  });
});
