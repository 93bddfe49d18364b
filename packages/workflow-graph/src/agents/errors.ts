import { WorkflowError } from "@uncaged/workflow";

/* The errors of the agents of a graph. The graph format prescribes the texts with a capital letter and a full stop. */

export const unknownAgent = (agentName: string, nodeId: string): WorkflowError =>
  WorkflowError.failed(
    "AGENT_UNKNOWN",
    `no agent ${JSON.stringify(agentName)} for node ${nodeId}`,
    "add it to agentsByName",
  );

export const noTools = (name: string): WorkflowError =>
  WorkflowError.failed(
    "TOOL_UNKNOWN",
    `no tool ${name} found: the graph's agents have no tools`,
    "pass tools to modelAgents",
  );

export const unknownProvider = (model: string, providers: string): WorkflowError =>
  WorkflowError.failed(
    "PROVIDER_UNKNOWN",
    `no provider serves the model ${JSON.stringify(model)}; providers: ${providers}`,
    "fix the node's model",
  );

export const emptyAnswer = (code: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    code,
    "Model returned no text output.",
    "change the prompt so that the model answers with a text",
    cause,
  );

export const noKey = (code: string, variable: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    code,
    `No LLM service configured. Set ${variable} in the environment.`,
    "threads get the environment of the command that starts them",
    cause,
  );
