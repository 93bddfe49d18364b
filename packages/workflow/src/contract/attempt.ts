/**
 * One construct that a task runs in, outermost first: `in` names the construct, `child` the task or chain
 * in it, `iteration` its iteration from 0; a child workflow has the id of its run instead.
 */
export type PathPart =
  | { in: string; child: string; iteration?: number }
  | { in: string; run: string };

/** Where a task runs: which iteration, branch, node, child run. Empty at the top of a workflow. */
export type Path = readonly PathPart[];

/** What an attempt executes: a role, where, and how people call it when not by its role. */
export type AttemptSpec = { role: string; path?: Path; title?: string };

/**
 * How an attempt ended. One that ends with a step of its own is committed by that step, which carries its id;
 * `committed` by `end` is the child of an attempt, whose result is part of that one's step.
 */
export type AttemptOutcome = "committed" | "failed" | "skipped" | "cancelled";

/** One execution of one role, in progress. It ends with the committed step that carries its id, or with `end`. */
export type OpenAttempt = {
  /** Undefined on a host that records no attempts. */
  readonly id: string | undefined;
  /** Runs a function in the attempt's async context: every event published in it carries the attempt's id. */
  run<T>(fn: () => T): T;
  /** Ends it without a step of its own. The first end counts; an attempt whose step is committed has ended. */
  end(outcome: AttemptOutcome, error?: unknown): void;
};

/**
 * What a host gives a workflow in `options.attempts`. A workflow that runs several roles concurrently opens
 * one attempt for each, runs the role in it, and yields the step with the attempt's id:
 *
 *     const attempt = options.attempts.open({ role: "reader" });
 *     const content = await attempt.run(() => read(file));
 *     yield { role: "reader", content, meta: {}, attempt: attempt.id };
 *
 * A workflow that opens none has one attempt for each `next()`. An attempt that is opened while another
 * one runs, in its async context, is that one's child.
 */
export type Attempts = { open(spec: AttemptSpec): OpenAttempt };

/**
 * Opens an attempt, also on a host that records none: then it only runs the function.
 *
 * @param options The second argument of `run`, or a role's context.
 */
export function openAttempt(options: { attempts?: Attempts }, spec: AttemptSpec): OpenAttempt {
  return options.attempts?.open(spec) ?? unrecorded;
}

const unrecorded: OpenAttempt = { id: undefined, run: (fn) => fn(), end: () => undefined };

/**
 * A role that uses the attempt that its caller opened for it, `ctx.attempt`, as its own has this property.
 * Any other role may call several such roles, each of which then opens a child of that attempt.
 */
export const usesAttempt: unique symbol = Symbol.for("uncaged.workflow.usesAttempt") as never;

/** A `run` with this property opens an attempt for each of its roles. */
export const opensAttempts: unique symbol = Symbol.for("uncaged.workflow.opensAttempts") as never;
