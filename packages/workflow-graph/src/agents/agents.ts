import type { AgentFn } from "@uncaged/workflow";
import {
  editFile,
  listFiles,
  readFile,
  runCommand,
  search,
  type ToolRegistry,
  toolRegistry,
  writeFile,
} from "@uncaged/workflow-agents";
import { paid } from "@uncaged/workflow-agents/interpreter";
import type { GraphAgents } from "../agent/agent.ts";
import { unknownAgent } from "./errors.ts";

/** Returns the built-in tools: `readFile`, `writeFile`, `editFile`, `listFiles`, `search` and `runCommand`. */
export const graphTools = (): ToolRegistry =>
  toolRegistry([readFile, writeFile, editFile, listFiles, search, runCommand()]);

/**
 * Returns custom agents by the id or name of their nodes: commands, scripts, or any other `AgentFn`. `otherwise` runs
 * all other nodes. A custom agent can't call subagents.
 *
 *     graphBundle(graph, { agents: agentsByName({ coder: claudeCode() }, modelAgents()) });
 */
export function agentsByName(
  agents: Readonly<Record<string, AgentFn>>,
  otherwise?: GraphAgents,
): GraphAgents {
  return async (request, surroundings) => {
    const { agentName, nodeId, prompt, systemPrompt } = request;
    const name = [nodeId, agentName].find((one) => Object.hasOwn(agents, one));
    const agent = name === undefined ? undefined : agents[name];
    if (!agent) {
      if (otherwise) return await otherwise(request, surroundings);
      throw unknownAgent(agentName, nodeId);
    }
    const { thread } = surroundings;
    const asked = { ...thread, start: { ...thread.start, content: prompt }, steps: [] };
    const { result, spending } = await paid(thread, { stepID: nodeId }, () =>
      agent(asked, systemPrompt),
    );
    const { cost, model, models, usage } = spending;
    return { output: result, usage, cost, model, models };
  };
}
