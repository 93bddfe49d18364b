import type { FailurePolicy, PlannerOutput } from "../../src/entry/index.ts";
import { Chance, digest } from "../../../workflow-graph/test/generated/chance.ts";
import { plan, step } from "../parts.ts";

const policies: FailurePolicy["on_step_failure"][] = ["stop", "skip_dependents", "ask_user"];

/** Generates a plan with roots, chains and joins under any policy, the same for the same seed. */
export function generatedPlan(seed: number): PlannerOutput {
  const chance = new Chance(seed);
  const count = 1 + chance.below(12);
  const steps = Array.from({ length: count }, (_, at) => {
    const earlier = Array.from({ length: at }, (_unused, one) => `s${one}`);
    const dependsOn = earlier.filter(() => chance.is(0.25)).slice(-4);
    return step(`s${at}`, dependsOn);
  });
  // The order in the plan differs from the order of the dependencies.
  const shuffled = steps
    .map((one) => ({ one, by: chance.next() }))
    .toSorted((a, b) => a.by - b.by)
    .map(({ one }) => one);
  return plan(shuffled, {
    on_step_failure: chance.of(policies),
    max_retries: chance.below(3),
  });
}

/** Returns the answer of a generated step's agent: a function of the step, its inputs and the attempt. */
export function answerTo(
  seed: number,
  id: string,
  inputs: unknown,
  attempt: number,
): string | null {
  const hash = digest(`${seed} ${id} ${JSON.stringify(inputs)} ${attempt}`);
  return hash % 100 < 22 ? null : `${id}:${hash.toString(36)}`;
}

/** Returns the answer to the question about a failed step. */
export const decisionOn = (seed: number, id: string, attempt: number): string =>
  ["retry", "retry", "skip", "abort"][digest(`${seed} ${id} ${attempt} ?`) % 4] ?? "abort";

/** Returns the inputs in the prompt of a step's agent. */
export const inputsIn = (prompt: string): unknown =>
  JSON.parse(prompt.slice(prompt.indexOf("Inputs:\n") + 8));
