import { createRoleModerator, END } from "@uncaged/workflow";
import { anthropicAgent, describe, openaiAgent, role } from "@uncaged/workflow-agents";
import * as z from "zod/mini";

const access = { maxRetries: 0 };
const agents = {
  anthropic: anthropicAgent({ model: "claude-opus-5-5", ...access }),
  openai: openaiAgent({ model: "gpt-5.2", ...access }),
};

const coder = role({
  description: "Codes with the model that is wanted",
  agent: (ctx, systemPrompt) => agents[ctx.options?.by as keyof typeof agents](ctx, systemPrompt),
  systemPrompt: "Code.",
  schema: z.object({}),
});

export const descriptor = describe("Answers", { coder });

export const run = createRoleModerator({
  roles: { coder },
  moderator: ({ steps }) => (steps.length < 2 ? "coder" : END),
});
