import type { ThreadContext } from "./context.ts";

/**
 * The value of a step's work, and its spending in the form of a step's meta (`usage`, `cost`, `model`, `models`); null
 * without spending.
 */
export type Surrounded<T> = { value: T; spent: Record<string, unknown> | null };

/** Runs the work of a step, and returns its value and spending. */
export type Surround = <T>(
  ctx: ThreadContext,
  work: () => T | Promise<T>,
) => Promise<Surrounded<T>>;

const plain: Surround = async (_, work) => ({ value: await work(), spent: null });

let current = plain;

/**
 * Sets the function that runs the work of every step of `durable` and `createRoleModerator`. A library sets it when it
 * is loaded, so that its functions find the step that calls them. This entry has no async context of its own, because
 * it imports no Node module.
 */
export function surroundSteps(surround: Surround): void {
  current = surround;
}

/** Runs the work of a step as {@link surroundSteps} says. */
export const surrounded: Surround = (ctx, work) => current(ctx, work);
