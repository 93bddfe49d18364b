import { WorkflowError } from "@uncaged/workflow";

/* The errors of a graph's bundle. */

/** A graph without a start node. The graph format prescribes `message`, which is also in the run's log. */
export const noStartNode = (message: string): WorkflowError =>
  WorkflowError.failed("GRAPH_NO_START", message, "add a node of the type start");

export const noAgents = (): WorkflowError =>
  WorkflowError.failed(
    "GRAPH_NO_AGENTS",
    "missing agents to run the graph",
    "pass agents to graphBundle: modelAgents() or your own agents",
  );
