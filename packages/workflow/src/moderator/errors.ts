import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

/* The logs of threads record these errors. */

export const contextChanged = (role: string): WorkflowError =>
  WorkflowError.failed(
    "CONTEXT_CHANGED",
    `ctx.steps was changed before role ${show(role)} had ended`,
    "read ctx.steps without changing it: the returned value of a role becomes the next step",
  );

export const unknownRole = (given: string, roles: readonly string[]): WorkflowError =>
  WorkflowError.failed(
    "UNKNOWN_ROLE",
    `the moderator returned ${given}, not one of its roles: ${roles.map(show).join(", ")}`,
    "return the name of a role or END, and not a promise",
  );

export const badRoleResult = (role: string, given: string): WorkflowError =>
  WorkflowError.failed(
    "BAD_ROLE_RESULT",
    `role ${show(role)} returned ${given}, not {content: a string, meta: an object}`,
  );

/** An `__input__` step of the log does not follow a question. `number`: the number of the step, from 1. */
export const unasked = (number: number): WorkflowError =>
  WorkflowError.failed(
    "DIVERGED",
    `step ${number} of the log is "__input__" without a question`,
    `fork the thread with the steps before it: --at-step ${number - 1}`,
  );
