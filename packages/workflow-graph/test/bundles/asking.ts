import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { tool, toolRegistry } from "@uncaged/workflow-agents";
import { z } from "zod";
import { anthropicModels, modelAgents } from "../../src/agents.ts";
import { graphBundle } from "../../src/index.ts";
import { agent, lines, start } from "../parts.ts";

/* Two agents at once, one of them at most at work, each with a tool that needs an approval. */
const deploy = tool({
  name: "deploy",
  description: "Deploys",
  input: z.object({ n: z.number() }),
  approve: true,
  execute: ({ n }, { cwd }) => {
    appendFileSync(join(cwd, "deployed"), `${n}\n`);
    return `deployed ${n}`;
  },
});

const agents = modelAgents({ models: [anthropicModels()], tools: toolRegistry([deploy]) });
const asker = { model: "claude-opus-5-5", tools: { deploy: true } };
const graph = {
  nodes: [
    start("s"),
    agent("one", { ...asker, systemPrompt: "You are one." }),
    agent("two", { ...asker, systemPrompt: "You are two." }),
  ],
  connections: lines("s -> one, two"),
};
export const { run, descriptor } = graphBundle(graph, { agents, maxConcurrency: 1 });
