import { type AgentFn, createRoleModerator, END } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { currentRun, describe, role } from "@uncaged/workflow-agents";
import { publish } from "@uncaged/workflow-agents/interpreter";
import * as z from "zod/mini";

/** Uses 1,000 input tokens and 100 output tokens ($0.003), after reserving 2,000 and 1,000 tokens ($0.015). */
const agent: AgentFn = async (ctx) => {
  const { reserve, spent } = currentRun();
  const model = "claude-sonnet-5-5";
  const most = { ...noUsage, input_tokens: 2000, output_tokens: 1000 };
  const { release } = await reserve({ model, usage: most, cost: null });
  publish("llm_thinking", { delta: "What is it worth?" });
  publish("llm_token", { delta: "Let me pay." });
  publish("llm_tool_use", { tool_use_id: "1", name: "pay", input: { with: ctx.env?.PURSE } });
  publish("llm_tool_result", { tool_use_id: "1", content: "paid", is_error: false });
  spent.push({ model, usage: { ...noUsage, input_tokens: 1000, output_tokens: 100 }, cost: null });
  release();
  const { prose } = (ctx.params ?? {}) as { prose?: boolean };
  return prose ? "I paid\nsomething." : '{"paid": true}';
};

const schema = z.object({ paid: z.boolean() });
const planner = role({ description: "Plans", agent, systemPrompt: "Plan.", schema });
const coder = role({ description: "Codes", agent, systemPrompt: "Code.", schema });

export const descriptor = describe("Spends", { planner, coder });

export const run = createRoleModerator({
  roles: { planner, coder },
  moderator: ({ steps }) => (["planner", "coder", "coder"] as const)[steps.length] ?? END,
});
