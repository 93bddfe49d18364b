import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { tool, toolRegistry } from "@uncaged/workflow-agents";
import { z } from "zod";
import { anthropicModels, modelAgents, openaiModels } from "../../src/entry/agents.ts";
import { graphBundle } from "../../src/entry/index.ts";
import { agent, lines, start } from "../parts.ts";

/* An agent whose subagent uses another provider. Each has a tool that needs an approval. */
const deploy = tool({
  name: "deploy",
  description: "Deploys",
  input: z.object({ n: z.number() }),
  approve: true,
  execute: ({ n }, { cwd }) => {
    appendFileSync(join(cwd, "deployed-by-a-team"), `${n}\n`);
    return `deployed ${n}`;
  },
});

const models = [anthropicModels(), openaiModels()];
const agents = modelAgents({ models, tools: toolRegistry([deploy]) });
const tools = { deploy: true };
const graph = {
  nodes: [
    start("s"),
    agent("lead", {
      ...{ model: "claude-opus-5-5", systemPrompt: "You lead." },
      tools: { ...tools, subagents: true },
    }),
    agent("helper", { agentName: "Helper", model: "gpt-5.2", tools, systemPrompt: "You help." }),
  ],
  connections: lines("s -> lead; lead -subagent-> helper"),
};
export const { run, descriptor } = graphBundle(graph, { agents });
