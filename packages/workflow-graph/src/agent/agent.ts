import type { ThreadContext, Usage } from "@uncaged/workflow";

/** An agent, and the agents that it may call. */
export type AgentTree = {
  nodeId: string;
  agentName: string;
  systemPrompt: string;
  model: string;
  reasoningEffort: string;
  /** The tools that it may use, by name. */
  tools: readonly string[];
  subagents?: readonly AgentTree[];
};

/** What an agent is asked. */
export type AgentRequest = AgentTree & { prompt: string };

/** What happens to one call of a subagent. Its start and its end have the same `callId`. */
export type SubagentCall = {
  type: "subagent_call_start" | "subagent_call_end" | "subagent_call_error";
  subagentNodeId: string;
  subagentName: string;
  callId: string;
  parentCallId?: string;
  /** 1 for one that the node itself calls. */
  depth: number;
  message?: string;
};

/** What an agent has besides what it is asked: the thread, and who is to know of its subagents' calls. */
export type AgentSurroundings = {
  thread: ThreadContext;
  onCall: (call: SubagentCall) => void;
};

/** An agent's answer, a text or a JSON object, and what it spent: of each of its `models` where it asked several. */
export type AgentAnswer = {
  output: unknown;
  model?: string | null;
  usage?: Usage;
  cost?: number | null;
  models?: Record<string, { usage: Usage; cost: number | null }>;
};

/** What plays the agents of a graph. */
export type GraphAgents = (
  request: AgentRequest,
  surroundings: AgentSurroundings,
) => Promise<AgentAnswer>;
