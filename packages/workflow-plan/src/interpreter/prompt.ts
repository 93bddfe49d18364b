import type { PlanStep } from "../plan/plan.ts";

/** Returns the prompt for a step's agent. */
export function promptOf(
  { description, expected_output: expected }: PlanStep,
  inputs: unknown,
  wasInterrupted: boolean,
): string {
  return [
    ...(wasInterrupted ? [interrupted] : []),
    description,
    ...(expected === undefined || expected.trim() === "" ? [] : [`Expected output:\n${expected}`]),
    `Inputs:\n${JSON.stringify(inputs, null, 2)}`,
  ].join("\n\n");
}

const interrupted =
  "An earlier attempt at this step was interrupted. Some of the work may be done already: check before you repeat anything.";
