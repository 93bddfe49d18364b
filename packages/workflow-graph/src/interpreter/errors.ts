import { WorkflowError } from "@uncaged/workflow";

/* The errors of running a graph. The graph format prescribes the texts with a capital letter. */

/** Failure of the whole run, not of a node. */
export class RunFailure extends WorkflowError {}

export const lostNode = (): RunFailure =>
  new RunFailure({
    code: "GRAPH_NODE_MISSING",
    message: "Unable to resume, current node missing",
    hint: "resume with a version of the graph that has the approval",
  });

export const outOfRounds = (maxRounds: number): RunFailure =>
  new RunFailure({
    code: "ROUND_LIMIT",
    message: "Round limit reached",
    hint: `start it with more than ${maxRounds} steps, or let its loops end`,
  });

/** A violation of a rule for subagents. */
export const badSubagents = (message: string): WorkflowError =>
  WorkflowError.failed("GRAPH_SUBAGENTS", message, "fix the graph");

export const emptyOutput = (): WorkflowError =>
  WorkflowError.failed(
    "LLM_EMPTY",
    "Model returned no text output.",
    "let the agent answer with a text",
  );
