import type fc from "fast-check";
import { type Generated, generatedOf } from "./draft.ts";
import { nestedPlans, workflowPlans } from "./plan.ts";

const mostSteps = 30;

/**
 * Workflows of every construct that end in the same way however long their calls take: two chains that
 * run concurrently never write to one place. They are valid, and small enough for hundreds of runs.
 *
 * With `isCounting` any step may count what it wrote before, and so show when it ran twice; else only
 * steps at the top that a checkpoint never makes run again.
 */
export const generatedWorkflows = (isCounting: boolean): fc.Arbitrary<Generated> =>
  workflowPlans(isCounting)
    .map(generatedOf)
    .filter(({ steps }) => steps <= mostSteps);

/** Workflows of constructs in constructs, small enough to be resumed at each of their checkpoints. */
export const nestedWorkflows = (isCounting: boolean, most = 8): fc.Arbitrary<Generated> =>
  nestedPlans(isCounting)
    .map(generatedOf)
    .filter(({ steps }) => steps >= 4 && steps <= most);
