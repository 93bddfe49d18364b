/**
 * Agent graphs as bundles. Does no I/O.
 *
 * @module
 */

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
  AgentGuardrail,
  AgentRequest,
  AgentSurroundings,
  AgentTree,
  GraphAgents,
  SchemaCheck,
  SubagentCall,
} from "../agent/agent.ts";
