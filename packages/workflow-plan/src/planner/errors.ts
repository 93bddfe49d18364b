import { PlannerError } from "../error/error.ts";

/* The errors of planning: a turn of the planner, its sessions and its plans. */

export const notModifiable = (id: string, phase: "executing" | "paused"): PlannerError =>
  new PlannerError(`${id} is ${phase} and can't be modified`, {
    hint:
      phase === "paused"
        ? `resume it before you change it: uncaged-workflow plan resume ${id}`
        : `change it after its run, or cancel the run: uncaged-workflow plan cancel ${id}`,
  });

export const invalidPlan = (message: string, details: string[] | undefined): PlannerError =>
  new PlannerError(message, { hint: "correct the plan, then try again", details });

export const noSession = (id: string, cause: unknown): PlannerError =>
  new PlannerError(`no planner session ${JSON.stringify(id)} found`, { kind: "missing", cause });

export const notSession = (path: string): PlannerError =>
  new PlannerError(`${path} is not a planner session`, { hint: "start a new session" });

export const invalidSessionId = (id: string): PlannerError =>
  new PlannerError(`${JSON.stringify(id.slice(0, 100))} is not an id of a planner session`);

export const sessionsNotStored = (): PlannerError =>
  new PlannerError("planner sessions are not stored here");

export const credentialsNotStored = (): Error => new Error("credentials are not stored here");

export const sessionCancelled = (id: string): PlannerError =>
  new PlannerError(`${id} was cancelled`);

/** A session or a plan with a turn in progress. */
export const plannerBusy = (id: string): PlannerError =>
  new PlannerError(`the planner is already working on ${id}`, {
    hint: "wait for its answer, then try again",
  });

export const blankRequest = (): PlannerError => new PlannerError("the request is blank");

/** A failed call of the model. `hint` comes from the model's error. */
export const modelFailed = (
  message: string,
  hint: string | undefined,
  cause: unknown,
): PlannerError => new PlannerError(`the planner's model failed: ${message}`, { cause, hint });

/** A turn that ended without a plan. `reason` is the planner's question or error. */
export const noPlanMade = (reason: string): PlannerError =>
  new PlannerError(reason, {
    hint: "add the missing facts to the request, or plan in a conversation",
  });
