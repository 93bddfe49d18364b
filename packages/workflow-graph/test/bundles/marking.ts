import { appendFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tool, toolRegistry } from "@uncaged/workflow-agents";
import { z } from "zod";
import { anthropicModels, modelAgents } from "../../src/agents.ts";
import { graphBundle } from "../../src/index.ts";
import { agent, lines, start } from "../parts.ts";

/* An agent whose tool leaves marks, and whose conversation is summarised; the process dies after the fourth, once. */
const mark = tool({
  name: "mark",
  description: "Leaves a mark",
  input: z.object({ n: z.number() }),
  execute({ n }, { cwd }) {
    appendFileSync(join(cwd, "marks"), `${n}\n`);
    const file = join(cwd, "die");
    if (n === 4 && existsSync(file)) {
      rmSync(file);
      process.kill(process.pid, "SIGKILL");
    }
    return `marked ${n} ${"x".repeat(2000)}`;
  },
});

const agents = modelAgents({
  ...{ models: [anthropicModels()], tools: toolRegistry([mark]) },
  context: { window: 2000 },
});
const marker = { model: "claude-opus-5-5", tools: { mark: true } };
const graph = { nodes: [start("s"), agent("marker", marker)], connections: lines("s -> marker") };
export const { run, descriptor } = graphBundle(graph, { agents });
