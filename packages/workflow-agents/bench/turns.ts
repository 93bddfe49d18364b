import { createRoleModerator, END, type Role } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { z } from "zod";
import {
  type AgentMeta,
  describe,
  type ModelProvider,
  role,
  tool,
  toolRegistry,
} from "../src/entry/index.ts";
import { modelAgent } from "../src/llm/agent.ts";

/*
 * A role with 200 turns of a model that answers at once. Each turn has one tool call. The prompt selects whether the
 * turns are recorded. The step has the times of the tool calls, in milliseconds.
 */
const turns = 200;
const answered = "a line that the tool has found\n".repeat(30);

const provider: ModelProvider = {
  name: "a model that answers at once",
  async answer({ model, messages }) {
    const turn = (messages.length + 1) / 2;
    const use = { id: `call_${turn}`, name: "look", input: {} };
    const isLast = turn > turns;
    const text = isLast ? "done" : "";
    return {
      ...{ id: `answer_${turn}`, model, text, thinking: "", usage: noUsage },
      blocks: isLast ? [{ type: "text", text }] : [{ type: "tool_use", ...use }],
      toolUses: isLast ? [] : [use],
      stop: isLast ? "end" : "tools",
      finishReason: "",
    };
  },
};

const moments = new Map<string, number[]>();
const look = tool({
  name: "look",
  description: "Looks",
  input: z.object({}),
  execute(_, { env }) {
    const own = moments.get(env.RUN ?? "") ?? [];
    moments.set(env.RUN ?? "", [...own, performance.now()]);
    return answered;
  },
});

const agent = modelAgent(provider, { model: "none", maxTurns: 1000, tools: toolRegistry([look]) });
const spec = { description: "Looks", systemPrompt: "", schema: z.object({}), agent };
const recorded = role(spec);
const unrecorded = role({ ...spec, durable: "role" });

type Meta = AgentMeta<typeof spec.schema>;
const timed =
  (play: Role<Meta>): Role<Meta> =>
  async (ctx) => {
    const { meta } = await play(ctx);
    return { content: JSON.stringify(moments.get(ctx.env?.RUN ?? "")), meta };
  };

export const descriptor = describe("Looks", { recorded, unrecorded });
export const run = createRoleModerator<{ recorded: Meta; unrecorded: Meta }>({
  roles: { recorded: timed(recorded), unrecorded: timed(unrecorded) },
  moderator: ({ steps, start }) =>
    steps.length > 0 ? END : (start.content as "recorded" | "unrecorded"),
});
