import { existsSync } from "node:fs";
import { join } from "node:path";
import { opensAttempts, type WorkflowFn } from "@uncaged/workflow";
import { planBundle, type StepAgent } from "../../src/index.ts";
import { answerTo, generatedPlan, inputsIn } from "../generated/plans.ts";

/* Generated plans, one for each thread: its prompt is the plan's number. So one worker drives many of them. */
const agentOf =
  (seed: number): StepAgent =>
  async ({ attempt, prompt, stepId }, { thread }) => {
    // The first plan's agents are at work until the first kill, on a machine of any speed.
    while (seed === 1 && !existsSync(join(thread.cwd ?? "", "gate")))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
    const output = answerTo(seed, stepId, inputsIn(prompt), attempt);
    if (output === null) throw new Error(`${stepId} failed`);
    return { output };
  };

const runPlan: WorkflowFn = (input, options) => {
  const seed = Number(input.prompt);
  return planBundle(generatedPlan(seed), { agent: agentOf(seed) }).run(input, options);
};

export const run = Object.assign(runPlan, { [opensAttempts]: true });
export const descriptor = { description: "generated plans", roles: {}, strict: false };
