import { WorkflowError } from "@uncaged/workflow";

/* The errors of reading a graph. */

const invalidGraph = (message: string): WorkflowError =>
  WorkflowError.failed("GRAPH_INVALID", message, "fix the graph and try again");

export const repeatedId = (id: string): WorkflowError =>
  invalidGraph(`two nodes have the id ${JSON.stringify(id)}`);

export const missingId = (index: number): WorkflowError =>
  invalidGraph(`nodes[${index}]: missing id`);

export const reservedId = (index: number, id: string): WorkflowError =>
  invalidGraph(
    `nodes[${index}] has the id ${JSON.stringify(id)}: ids that begin with __ are reserved`,
  );

export const longId = (index: number, most: number): WorkflowError =>
  invalidGraph(`nodes[${index}] has an id longer than ${most} characters`);
