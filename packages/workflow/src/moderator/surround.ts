import { START, type ThreadInput, type WorkflowOptions } from "../contract/contract.ts";
import type { ThreadContext } from "./context.ts";

/**
 * The value of a step's work, and its spending in the form of a step's meta (`usage`, `cost`, `model`, `models`), if
 * any.
 */
export type Surrounded<T> = { value: T; spent?: Record<string, unknown> | undefined };

/** A step of `durable`: its role and context, and the arguments of `run`. */
export type DurableStep = {
  role: string;
  context: Pick<
    ThreadContext,
    "cwd" | "env" | "signal" | "key" | "attempt" | "attempts" | "questions"
  >;
  input: ThreadInput;
  options: WorkflowOptions;
};

/** Returns the thread of a step of `durable`, with the steps at the start of this run. */
export function threadOf({ role, context, input, options }: DurableStep): ThreadContext {
  const { threadId, maxRounds, blobs, journal, worktrees, shared } = options;
  const { prompt: content, params } = input;
  return {
    ...{ threadId, role, blobs, journal, worktrees, shared, params, ...context, options },
    start: { role: START, content, meta: { maxRounds, threadId }, timestamp: 0 },
    steps: input.steps as ThreadContext["steps"],
  };
}

/** Runs the work of a step, and returns its value and spending. */
export type Surround = <T>(
  step: ThreadContext | DurableStep,
  work: () => T | Promise<T>,
) => Promise<Surrounded<T>>;

/** Runs the work of a step with the function set by {@link surroundSteps}. */
export let surrounded: Surround = async (_, work) => ({ value: await work() });

/**
 * Sets the function that runs the work of every step of `durable` and `createRoleModerator`. A library sets it when it
 * is loaded, so that its functions find the step that calls them. This entry point does not use async context, because
 * it must not import a Node module.
 */
export function surroundSteps(surround: Surround): void {
  surrounded = surround;
}
