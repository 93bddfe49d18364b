import { anthropic } from "@ai-sdk/anthropic";
import { durable } from "@uncaged/workflow";
import { durableModel, durableTools } from "@uncaged/workflow-agents/ai-sdk";
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";

const weather = tool({
  description: "Returns the weather in a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, celsius: 21 }),
});
const book = tool({
  description: "Books a trip to a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }, { toolCallId }) => `booked ${city} as ${toolCallId}`,
});

export const descriptor = {
  description: "Plans a trip",
  roles: { planner: { description: "Plans", schema: true } },
};

export const run = durable(async function* (step, { prompt }) {
  return yield* step("planner", async () => {
    const { text } = await generateText({
      model: durableModel(anthropic("claude-opus-5-5")),
      tools: durableTools({ weather, book }, { approve: { book: true } }),
      stopWhen: isStepCount(20),
      prompt,
    });
    return text;
  });
});
