import { createRoleModerator, END, type Role } from "@uncaged/workflow";
import { z } from "zod";
import {
  type AgentMeta,
  anthropicAgent,
  describe,
  openaiAgent,
  role,
} from "../../src/entry/index.ts";

/* A role that calls a model several times. The prompt's first word selects the provider. */

const shared = {
  description: "Asks, in the version-0",
  systemPrompt: "Answer.",
  schema: z.object({}),
};
const retry = { attempts: 4, maxDelay: "2s" };
const claude = role({ ...shared, retry, agent: anthropicAgent({ model: "claude-opus-5-5" }) });
const gpt = role({ ...shared, retry, agent: openaiAgent({ model: "gpt-5.2" }) });

type Meta = AgentMeta<typeof shared.schema>;
const asker: Role<Meta> = (ctx) =>
  ctx.start.content.startsWith("claude") ? claude(ctx) : gpt(ctx);

export const descriptor = describe("Asks", { asker: claude });
export const run = createRoleModerator<{ asker: Meta }>({
  roles: { asker },
  moderator: ({ steps }) => (steps.length < 3 ? "asker" : END),
});
