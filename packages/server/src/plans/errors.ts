import { WorkflowError } from "@uncaged/workflow/host";
import { foundProblems } from "@uncaged/workflow/internal";

/* The errors of the routes of plans. */

export const planInvalid = (problems: string[]): WorkflowError =>
  new WorkflowError({
    code: "PLANNER_ERROR",
    kind: "usage",
    ...foundProblems(problems),
    hint: "correct the plan",
  });

export const noTurn = (session: string): WorkflowError =>
  WorkflowError.failed(
    "NO_TURN",
    `no turn of ${JSON.stringify(session.slice(0, 100))} runs in this server`,
    "it may have ended, or run in another program",
  );
