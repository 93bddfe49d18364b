import { ConfigError, ExecutorError } from "../error/error.ts";

/* The errors of a plan home: its plans, its runs and its secrets. */

export const noRun = (id: string): ExecutorError =>
  new ExecutorError(`no run ${JSON.stringify(id.slice(0, 100))} found`, { kind: "missing" });

export const planExists = (id: string): ExecutorError =>
  new ExecutorError(`plan ${id} already exists`);

/** An id that is the prefix of several ids. `more` tells whether there are more ids than listed. */
export const ambiguousId = (id: string, ids: readonly string[], more: boolean): ExecutorError =>
  new ExecutorError(`${JSON.stringify(id)} is a prefix of more than one id`, {
    kind: "usage",
    hint: `use a longer prefix: ${ids.join(", ")}${more ? " and more" : ""}`,
  });

/** A plan that differs from the shown plan. */
export const planChanged = (id: string): ExecutorError =>
  new ExecutorError(`this plan has changed: ${id}`, {
    hint: "read the plan again, then confirm or change it",
  });

export const nothingToCancel = (id: string, phase: string): ExecutorError =>
  new ExecutorError(`${id} is ${phase} and has no run to cancel`);

export const removedWhileExecuting = (id: string): ExecutorError =>
  new ExecutorError(`${id} is executing and can't be removed`, {
    hint: `cancel its run first: uncaged-workflow plan cancel ${id}`,
  });

export const invalidSecretValue = (name: string): ConfigError =>
  new ConfigError(`the value of ${name} is empty or has a zero byte`, {
    hint: "enter the whole value, as text",
  });
