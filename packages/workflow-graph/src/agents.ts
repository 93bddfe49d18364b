// Entry point 2: what plays the agents of a graph, over models and tools.

export { modelAgents, type ModelAgentsOptions } from "./agents/models.ts";
export { agentsByName } from "./agents/named.ts";
export { graphTools } from "./agents/tools.ts";
export { anthropicModels, type Models, openaiModels } from "@uncaged/workflow-agents";
