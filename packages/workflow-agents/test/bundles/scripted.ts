import { createRoleModerator, END } from "@uncaged/workflow";
import { scriptedAgent } from "../../src/entry/index.ts";

const agent = scriptedAgent(["done"]);

export const descriptor = {
  description: "one role",
  roles: { coder: { description: "codes", schema: {} } },
};

export const run = createRoleModerator<{ coder: Record<string, never> }>({
  roles: { coder: async (ctx) => ({ content: await agent(ctx, "You code"), meta: {} }) },
  moderator: ({ steps }) => (steps.length === 0 ? "coder" : END),
});
