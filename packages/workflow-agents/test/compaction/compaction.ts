import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { createRoleModerator, END } from "@uncaged/workflow";
import { z } from "zod";
import { anthropicAgent, describe, role, tool, toolRegistry } from "../../src/entry/index.ts";

/* A role whose conversation is summarised several times. Each tool call leaves a mark. */
const look = tool({
  ...{ name: "look", description: "Looks", input: z.object({ n: z.number() }) },
  execute({ n }, { cwd }) {
    appendFileSync(join(cwd, "marks"), `${n}\n`);
    return `found ${n} ${"x".repeat(2000)}`;
  },
});

const looker = role({
  ...{ description: "Looks", systemPrompt: "You look.", schema: z.object({}) },
  agent: anthropicAgent({
    ...{ model: "claude-opus-5-5", maxRetries: 0, context: { window: 4000 } },
    tools: toolRegistry([look]),
  }),
});

export const descriptor = describe("Looks", { looker });
export const run = createRoleModerator({
  roles: { looker },
  moderator: ({ steps }) => (steps.length > 0 ? END : "looker"),
});
