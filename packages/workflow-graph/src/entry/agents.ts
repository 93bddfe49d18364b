/**
 * Runs the agents of a graph with models and tools.
 *
 * @module
 */

export { agentsByName, graphTools } from "../agents/agents.ts";
export { checkSchema } from "../guardrail/check-schema.ts";
export { modelAgents, type ModelAgentsOptions } from "../agents/models.ts";
export { anthropicModels, type Models, openaiModels } from "@uncaged/workflow-agents";
