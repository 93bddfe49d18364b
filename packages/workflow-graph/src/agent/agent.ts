import type { ThreadContext, Usage } from "@uncaged/workflow";

/** An agent, with the subagents that it may call. */
export type AgentTree = {
  nodeId: string;
  agentName: string;
  systemPrompt: string;
  model: string;
  reasoningEffort: string;
  tools: readonly string[];
  subagents?: readonly AgentTree[];
  /** A check of the answer. The agent asks its model again while retries are left. */
  guardrail?: AgentGuardrail;
};

/** A check of an agent's answer. */
export type AgentGuardrail = {
  /** JSON Schema of the answer; null for any text. */
  schema: object | null;
  retries: number;
  /** Returns the problems of an answer, and the parsed value. */
  read: (output: unknown) => Promise<{ problems: string[]; value: unknown }>;
};

/** Compiles a JSON Schema. The result returns the problems of a value. */
export type SchemaCheck = (schema: object) => Promise<(value: unknown) => string[]>;

/** Request to an agent. */
export type AgentRequest = AgentTree & { prompt: string };

/** Event of a subagent call. Its start and end events share a `callId`. */
export type SubagentCall = {
  type: "subagent_call_start" | "subagent_call_end" | "subagent_call_error";
  subagentNodeId: string;
  subagentName: string;
  callId: string;
  parentCallId?: string;
  /** 1 for calls by the node itself. */
  depth: number;
  message?: string;
};

/** Context of an agent: its thread and a listener for subagent calls. */
export type AgentSurroundings = {
  thread: ThreadContext;
  onCall: (call: SubagentCall) => void;
};

/**
 * An agent's answer (text or JSON object) and its spending. `models` splits the spending by model if the agent used several
 * models.
 */
export type AgentAnswer = {
  output: unknown;
  model?: string | null;
  usage?: Usage;
  cost?: number | null;
  models?: Record<string, { usage: Usage; cost: number | null }>;
};

/** Runs the agents of a graph. */
export type GraphAgents = (
  request: AgentRequest,
  surroundings: AgentSurroundings,
) => Promise<AgentAnswer>;
