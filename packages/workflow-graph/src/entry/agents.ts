// Entry point 2: what plays the agents of a graph, over models and tools.

export { agentsByName, graphTools } from "../agents/agents.ts";
export { modelAgents, type ModelAgentsOptions } from "../agents/models.ts";
export { anthropicModels, type Models, openaiModels } from "@uncaged/workflow-agents";
