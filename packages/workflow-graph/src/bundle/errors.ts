import { WorkflowError } from "@uncaged/workflow";

/* The errors of a graph's bundle. */

/** `message` is also in the run's log; the graph format prescribes the text. */
export const noStartNode = (message: string): WorkflowError =>
  WorkflowError.failed("GRAPH_NO_START", message, "add a node of the type start");

export const noAgents = (): WorkflowError =>
  WorkflowError.failed(
    "GRAPH_NO_AGENTS",
    "missing agents to run the graph",
    "pass agents to graphBundle: modelAgents() or your own agents",
  );
