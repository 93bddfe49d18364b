/*
 * The values of the protocol's enumerations, each in one list, and the prefixes of ids. The types, schemas and choices
 * of all packages come from these lists. This file imports nothing, so that a command line can list choices without
 * loading plans.
 */

/** The phases of a plan. */
export const phases = [
  ...(["planning", "awaiting_confirmation", "active", "executing", "paused"] as const),
  ...(["completed", "failed"] as const),
] as const;

/** The statuses of a run. `running` includes waiting, paused and interrupted runs. */
export const runStatuses = ["running", "completed", "failed"] as const;

/** The statuses of a step in a run. */
export const stepStatuses = ["pending", "running", "succeeded", "failed", "skipped"] as const;

/** The reactions of a run to a failed step. */
export const failureReactions = ["stop", "skip_dependents", "ask_user"] as const;

/** The error of a cancelled run and of its running steps. The tables have no other sign of a cancel. */
export const cancelledByUser = "cancelled by user";

/** Tells whether a run or a step was cancelled, from its row. */
export const isCancelled = ({ error }: { error: string | null }): boolean =>
  error === cancelledByUser;

/** The decisions about a failed step. */
export const decisions = ["retry", "skip", "abort"] as const;

/** The ways in which a poll compares two outputs of its script. */
export const diffModes = ["new_items", "any_change"] as const;

/** The phase of a plan. */
export type WorkflowPhase = (typeof phases)[number];
export type RunStatus = (typeof runStatuses)[number];
/** The status of a step in a run. */
export type StepStatus = (typeof stepStatuses)[number];
/** A decision about a failed step. */
export type Decision = (typeof decisions)[number];

/** The prefixes of ids: of a plan, a run, a step run, and a conversation with the planner. */
export const prefixes = { plan: "wf_", run: "run_", stepRun: "sr_", session: "ps_" } as const;

/** Returns the id of a thread's run. */
export const runIdOf = (threadId: string): string => prefixes.run + threadId;

/** Returns the thread of a run. */
export const threadIdOf = (runId: string): string =>
  runId.startsWith(prefixes.run) ? runId.slice(prefixes.run.length) : runId;

/** Returns the id of a step run. Derives it from the thread, so that a fork has different ids. */
export const stepRunId = (threadId: string, stepId: string): string =>
  `${prefixes.stepRun}${threadId}_${stepId}`;
