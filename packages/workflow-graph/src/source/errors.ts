import { foundProblems } from "@uncaged/workflow/interpreter";
import { WorkflowError } from "@uncaged/workflow";

/* The errors of a graph's file. */

export const invalidGraphFile = (problems: readonly string[]): WorkflowError =>
  new WorkflowError({
    code: "GRAPH_INVALID",
    hint: "fix the graph and try again",
    ...foundProblems(problems),
  });
