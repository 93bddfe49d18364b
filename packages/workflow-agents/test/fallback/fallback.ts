import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { createRoleModerator, END } from "@uncaged/workflow";
import { z } from "zod";
import {
  type AgentMeta,
  anthropicAgent,
  asTool,
  claudeCode,
  describe,
  fallback,
  openaiAgent,
  role,
  tool,
  toolRegistry,
} from "../../src/entry/index.ts";

/* Roles for tests that kill the process during the work of a fallback agent or a command. */

const mark = tool({
  name: "mark",
  description: "Leaves a mark",
  input: z.object({ n: z.number() }),
  execute({ n }, { cwd }) {
    appendFileSync(join(cwd, "marks"), `${n}\n`);
    return "marked";
  },
});
const tools = toolRegistry([mark]);
const shared = { description: "Marks", systemPrompt: "Mark it.", schema: z.object({}) };

const models = role({
  ...shared,
  agent: fallback([
    anthropicAgent({ model: "claude-opus-5-5", tools, maxRetries: 0 }),
    openaiAgent({ model: "gpt-5.2", tools, maxRetries: 0 }),
  ]),
});
const command = role({
  ...shared,
  agent: claudeCode({ args: ["--allowedTools", "Bash"], graceMs: 1000 }),
});
const leads = role({
  ...{ ...shared, systemPrompt: "You lead." },
  agent: anthropicAgent({
    ...{ model: "claude-opus-5-5", maxRetries: 0 },
    tools: toolRegistry([asTool(command, { name: "command" })]),
  }),
});

type Meta = AgentMeta<typeof shared.schema>;

export const descriptor = describe("Marks", { models, command, leads });
export const run = createRoleModerator<{ models: Meta; command: Meta; leads: Meta }>({
  roles: { models, command, leads },
  moderator: ({ steps, start }) =>
    steps.length > 0 ? END : (start.content as "models" | "command" | "leads"),
});
