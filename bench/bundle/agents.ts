import { existsSync } from "node:fs";
import { channel } from "node:diagnostics_channel";
import { durable } from "@uncaged/workflow";

/* Agents that publish the events of a model and a tool: `steps` agents in sequence, then `together` agents at once. */
export const descriptor = { description: "Streams like agents.", roles: {} };

const publish = (type: string, payload: object): void =>
  channel("uncaged.workflow").publish({ type, stepID: "agent", payload });

/** Publishes one turn: `tokens` pieces of text, `ms` apart, and a call of a tool. */
async function turn(n: number, tokens: number, ms: number): Promise<void> {
  for (let at = 0; at < tokens; at += 1) {
    publish("llm_token", { delta: at % 12 === 11 ? "**word**.\n\n" : `word${at} ` });
    if (ms > 0) await Bun.sleep(ms);
  }
  publish("llm_tool_use", { tool_use_id: `t${n}`, name: "look", input: { n } });
  publish("llm_tool_result", { tool_use_id: `t${n}`, content: "seen" });
  const usage = { input_tokens: 10, output_tokens: tokens };
  publish("llm_usage", { call_id: `c${n}`, model: "m", usage, cost_usd: 0.01, state: "whole" });
}

/** Publishes turns until the file `stop` exists. */
async function stream(stop: string): Promise<string> {
  for (let n = 0; !existsSync(stop); n += 1) await turn(n, 400, 40);
  return "done";
}

type Params = { steps: number; together: number; stop: string };

export const run = durable(async function* (step, { params }) {
  const { steps, together, stop } = params as Params;
  for (let n = 0; n < steps; n += 1) {
    yield* step("work", async () => {
      await turn(n, 3, 0);
      return `result ${n}`;
    });
  }
  yield* step.all(Array.from({ length: together }, () => step("agent", () => stream(stop))));
  return "done";
});
