import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { nestedWorkflows } from "./generated/workflows.ts";
import type { Generated } from "./generated/draft.ts";
import { runEngine } from "./generated/engine.ts";
import { countsOf, endOf, runBundle } from "./generated/run.ts";

const isWhole = process.env.TEST_CASES === "all";
const workflows = isWhole ? 3000 : 200;
const mostSteps = isWhole ? 12 : 8;
const seed = Number(process.env.TEST_SEED ?? 1);

setDefaultTimeout(600_000);

/** Checks generated workflows. The error of a failure has the seed and the smallest failing workflow. */
const forAll = (
  isCounting: boolean,
  property: (generated: Generated) => Promise<void>,
): Promise<void> =>
  fc.assert(fc.asyncProperty(nestedWorkflows(isCounting, mostSteps), property), {
    seed,
    numRuns: workflows,
  });

test("a run that resumes from any checkpoint ends like the uninterrupted run", () =>
  // A checkpoint does not hold the progress of a chain in a construct. The chain runs again, so no step counts.
  forAll(false, async (generated) => {
    const { checkpoints, context } = await runEngine(generated);
    const { status, variables } = context.snapshot();
    if (generated.isTimed) return;
    for (const { checkpoint } of checkpoints) {
      const json = JSON.stringify(checkpoint);
      const again = await runEngine(generated, JSON.parse(json) as typeof checkpoint);
      const end = again.context.snapshot();
      expect({ json, variables: end.variables }).toEqual({ json, variables });
      if (checkpoint.currentStepID !== "RETURN") expect(end.status).toBe(status);
    }
  }));

test("a thread that resumes after any step ends like the uninterrupted thread without repeating a step", () =>
  forAll(true, async (generated) => {
    const whole = await runBundle(generated);
    if (generated.isTimed) return;
    for (let kept = 0; kept <= whole.steps.length; kept += 1) {
      const again = await runBundle(generated, whole.steps.slice(0, kept));
      expect(again.status).toBe(whole.status);
      expect(countsOf(again.steps)).toEqual(countsOf(whole.steps));
      expect(endOf(generated, again.steps)).toEqual(endOf(generated, whole.steps));
    }
  }));
