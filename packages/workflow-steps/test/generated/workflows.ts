import type fc from "fast-check";
import { type Generated, generatedOf } from "./draft.ts";
import { nestedPlans, workflowPlans } from "./plan.ts";

const mostSteps = 30;

/**
 * Valid workflows of every construct, small enough for hundreds of runs. The duration of calls does not affect their
 * result, because concurrent chains never write to one variable. With `isCounting` any step may count its earlier
 * writes, which reveals repeated runs; otherwise only top-level steps that no checkpoint repeats may count.
 */
export const generatedWorkflows = (isCounting: boolean): fc.Arbitrary<Generated> =>
  workflowPlans(isCounting)
    .map(generatedOf)
    .filter(({ steps }) => steps <= mostSteps);

/** Workflows of nested constructs, small enough to resume at each of their checkpoints. */
export const nestedWorkflows = (isCounting: boolean, most = 8): fc.Arbitrary<Generated> =>
  nestedPlans(isCounting)
    .map(generatedOf)
    .filter(({ steps }) => steps >= 4 && steps <= most);
