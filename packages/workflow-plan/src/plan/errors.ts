import { ExecutorError } from "../error/error.ts";

/* The errors of running a plan's definition. `checkPlan` finds all other problems of a plan. */

const notRunnable = (problem: string): ExecutorError =>
  new ExecutorError(`the plan can't be run: ${problem}`, { hint: "check it with checkPlan" });

export const reservedId = (id: string): ExecutorError => notRunnable(`the id ${id} is reserved`);

export const duplicateId = (): ExecutorError => notRunnable("two steps have the same id");

export const unknownReaction = (known: readonly string[]): ExecutorError =>
  notRunnable(`failure_policy.on_step_failure must be ${known.join(" or ")}`);
