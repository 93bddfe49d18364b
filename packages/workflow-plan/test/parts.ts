import type { Step } from "@uncaged/workflow";
import { runThread, type RunThreadOptions, type ThreadOutcome } from "@uncaged/workflow/testing";
import {
  type FailurePolicy,
  planBundle,
  type PlanDocument,
  type PlanOptions,
  type PlannerOutput,
  type PlanStep,
  type StepAgent,
} from "../src/entry/index.ts";

/** Returns a step of a plan. The inputs also contain the dependencies. */
export const step = (id: string, depends_on: string[] = [], more: Partial<PlanStep> = {}) => ({
  id,
  description: `do ${id}`,
  agent: "claude" as const,
  inputs: Object.fromEntries(depends_on.map((one) => [one, `$steps.${one}.output`])),
  depends_on,
  ...more,
});

export function plan(
  steps: PlanStep[],
  policy: Partial<FailurePolicy> = {},
  more: Partial<PlannerOutput> = {},
): PlannerOutput {
  return {
    name: "A plan",
    description: "Do it.",
    trigger: { type: "manual" },
    steps,
    failure_policy: {
      on_step_failure: "skip_dependents",
      max_retries: 0,
      retry_delay_ms: 0,
      ...policy,
    },
    ...more,
  };
}

/** The answers of a step's agent by the step's id: a text, an error, or a function's result. */
export type Answers = Record<string, string | Error | StepAgent>;

export const agentOf =
  (answers: Answers): StepAgent =>
  async (request, around) => {
    const answer = answers[request.stepId] ?? `${request.stepId} done`;
    if (answer instanceof Error) throw answer;
    return typeof answer === "string" ? { output: answer } : await answer(request, around);
  };

/** Runs a plan as a thread in memory. */
export const runPlan = (
  definition: PlanDocument,
  answers: Answers = {},
  options: RunThreadOptions & PlanOptions = {},
): Promise<ThreadOutcome> => {
  const { answerMs, maxParallelSteps, ...thread } = options;
  const bundle = planBundle(definition, { agent: agentOf(answers), answerMs, maxParallelSteps });
  return runThread(bundle.run, { maxRounds: 10_000, ...thread });
};

/** Returns the records of a thread, each as `event id`. */
export const eventsIn = (steps: readonly Pick<Step, "role" | "meta">[]): string[] =>
  steps.map(({ meta, role }) => (role.startsWith("__") ? role : `${String(meta.event)} ${role}`));

/** Returns the final state of each step, by its id. */
export function statesIn(steps: readonly Pick<Step, "role" | "meta">[]): Record<string, string> {
  const states: Record<string, string> = {};
  for (const { meta, role } of steps) {
    if (!role.startsWith("__")) states[role] = String(meta.event);
  }
  return states;
}

export const result = (outcome: ThreadOutcome): unknown =>
  "result" in outcome ? outcome.result : { ...outcome, steps: undefined };

/** Returns a promise and the function that resolves it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: () => resolve() };
}
