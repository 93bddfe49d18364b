import type { Subtask } from "../agent/agent.ts";
import type { PlanStep } from "../plan/plan.ts";
import { malformedIn, referencesIn, eachText } from "../reference/reference.ts";
import type { PlanState } from "./state.ts";
import { invalidSubtask } from "./errors.ts";

const idForm = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const longestId = 64;

/**
 * Returns the step for a subtask. No step depends on it yet, so it can't close a cycle.
 * @throws ExecutorError with all problems of the subtask.
 */
export function subtaskOf(state: PlanState, by: string, subtask: Subtask): PlanStep {
  const { depends_on = [by], description, id = freeId(state, by), inputs = {} } = subtask;
  const step: PlanStep = { id, description, agent: "claude", inputs, depends_on };
  const problem = problemIn(step) ?? state.refusal(step, by);
  if (problem === null) return step;
  throw invalidSubtask(id, by, problem);
}

function problemIn({ depends_on, description, id, inputs }: PlanStep): string | null {
  if (typeof id !== "string" || !idForm.test(id) || id.length > longestId)
    return `id: must be kebab-case, of at most ${longestId} characters`;
  if (typeof description !== "string" || description.trim() === "")
    return "description: must not be blank";
  if (!Array.isArray(depends_on) || !depends_on.every((one) => typeof one === "string"))
    return "depends_on: must be an array of ids";
  if (new Set(depends_on).size < depends_on.length) return "depends_on: duplicate id";
  if (depends_on.includes(id)) return "depends_on: the step depends on itself";
  if (typeof inputs !== "object" || inputs === null || Array.isArray(inputs))
    return "inputs: must be an object";
  let problem: string | null = null;
  eachText(inputs, (text) => {
    const [malformed] = malformedIn(text);
    const stray = referencesIn(text).find(
      ({ step }) => step !== undefined && !depends_on.includes(step),
    );
    if (malformed) problem ??= `inputs: ${malformed.text} ${malformed.reason}`;
    if (stray) problem ??= `inputs: ${stray.text} refers to a step that is not in depends_on`;
  });
  return problem;
}

function freeId(state: PlanState, by: string): string {
  const base = by.slice(0, longestId - 12);
  for (let n = 1; ; n += 1) {
    const id = `${base}-subtask-${n}`.replace(/--+/g, "-");
    if (state.find(id) === null) return id;
  }
}
