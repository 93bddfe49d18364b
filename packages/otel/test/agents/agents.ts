import { createRoleModerator, END } from "@uncaged/workflow";
import { anthropicAgent, describe, role, tool, toolRegistry } from "@uncaged/workflow-agents";
import { z } from "zod";

const add = tool({
  name: "add",
  description: "Adds two numbers",
  idempotent: true,
  input: z.object({ a: z.number(), b: z.number(), note: z.string() }),
  execute: ({ a, b, note }) => `${note} ${a + b}`,
});
const agent = anthropicAgent({
  model: "claude-opus-5-5",
  tools: toolRegistry([add]),
  maxRetries: 0,
});
const schema = z.object({ done: z.boolean() });
const adder = role({ description: "Adds", systemPrompt: "Add.", schema, agent });

export const descriptor = describe("Adds", { adder });
export const run = createRoleModerator({
  roles: { adder },
  moderator: ({ steps }) => (steps.length >= 2 ? END : "adder"),
});
