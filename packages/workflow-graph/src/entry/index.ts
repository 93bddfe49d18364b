// Entry point 1: agent graphs as bundles. Nothing here does I/O.

// Bundle
export {
  graphBundle,
  type GraphDescriptor,
  graphIn,
  type GraphOptions,
} from "../bundle/bundle.ts";

// Document
export type { GraphDocument } from "../document/schema.ts";

// Agents
export type {
  AgentAnswer,
  AgentRequest,
  AgentSurroundings,
  AgentTree,
  GraphAgents,
  SubagentCall,
} from "../agent/agent.ts";
