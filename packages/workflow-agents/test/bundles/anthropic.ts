import { createRoleModerator, END } from "@uncaged/workflow";
import { anthropicAgent } from "../../src/entry/index.ts";

const agent = anthropicAgent({ model: "claude-opus-5-5" });

export const descriptor = {
  description: "one role",
  roles: { coder: { description: "codes", schema: {} } },
};

export const run = createRoleModerator<{ coder: Record<string, never> }>({
  roles: { coder: async (ctx) => ({ content: await agent(ctx, "You code"), meta: {} }) },
  moderator: ({ steps }) => (steps.length === 0 ? "coder" : END),
});
