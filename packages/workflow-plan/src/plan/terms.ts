/*
 * The values of the protocol's enumerations, each in one list, and its ids: the types come from these, and the schemas and
 * choices of all packages. Nothing is imported here, so that a command line can name its choices without loading plans.
 */

/** Where a plan is in its life. */
export const phases = [
  ...(["planning", "awaiting_confirmation", "active", "executing", "paused"] as const),
  ...(["completed", "failed"] as const),
] as const;

/** How a run stands: `running` also while it waits, is paused, or was interrupted. */
export const runStatuses = ["running", "completed", "failed"] as const;

/** The state of one step in one run. */
export const stepStatuses = ["pending", "running", "succeeded", "failed", "skipped"] as const;

/** What becomes of a run when a step fails. */
export const failureReactions = ["stop", "skip_dependents", "ask_user"] as const;

/** What is done about a step that has failed. */
export const decisions = ["retry", "skip", "abort"] as const;

/** What a poll compares of two outputs of its script. */
export const diffModes = ["new_items", "any_change"] as const;

/** One of {@link phases}. */
export type WorkflowPhase = (typeof phases)[number];
/** One of {@link runStatuses}. */
export type RunStatus = (typeof runStatuses)[number];
/** One of {@link stepStatuses}. */
export type StepStatus = (typeof stepStatuses)[number];
/** One of {@link decisions}. */
export type Decision = (typeof decisions)[number];

/** How the ids begin: of a plan, a run, a step's run, and a conversation with the planner. */
export const prefixes = { plan: "wf_", run: "run_", stepRun: "sr_", session: "ps_" } as const;

/** The id of the run that a thread is. */
export const runIdOf = (threadId: string): string => prefixes.run + threadId;

/** The thread of a run. */
export const threadIdOf = (runId: string): string =>
  runId.startsWith(prefixes.run) ? runId.slice(prefixes.run.length) : runId;

/** The id of a step's run: derived from the thread, so that a fork has its own. */
export const stepRunId = (threadId: string, stepId: string): string =>
  `${prefixes.stepRun}${threadId}_${stepId}`;
