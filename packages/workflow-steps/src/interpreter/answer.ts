import { maskOf } from "@uncaged/workflow/interpreter";
import { buildErrorMap } from "../adapter/error.ts";
import type { StepAt, Write } from "../state/state.ts";
import type { Task } from "./interpreter.ts";

/* Functions that replay the recorded runs of steps and record failed runs. */

/** Returns the run of a step, named as in the thread's commits. */
export function stepAt({ chain, interpreter, step }: Task): StepAt {
  const { path, prefix } = interpreter.run.setup;
  return { stepID: `${prefix}${step.id}`, path: [...path, ...chain.path] };
}

/** Adds the failure of the step's run to the next commit. */
export function recordFailure(task: Task, error: unknown): void {
  const { setup } = task.interpreter.run;
  const { stepID, path } = stepAt(task);
  const wrote = task.context.written.variables.map(({ seq }) => seq);
  const map = buildErrorMap(error, task.step.id);
  const shown = { ...map, message: maskOf(setup.env ?? {})(map.message) };
  task.context.written.failures.push({ stepID, path: [...path], error: shown, wrote });
  setup.recorded?.failed({ stepID, path });
}

/** Throws the recorded failure of the step's run, if one exists. */
export function failAsRecorded(task: Task): void {
  const recorded = task.interpreter.run.setup.recorded?.failure(stepAt(task));
  if (!recorded) return;
  write(task, recorded.variables);
  const { code, message, retryable, type } = recorded.error;
  throw Object.assign(new Error(message), { code, retryable, type });
}

/**
 * Writes the recorded commit of the step's run instead of making a call. Returns false if the run does not replay
 * recorded runs.
 */
export function writeRecorded(task: Task): boolean {
  const { context, interpreter } = task;
  const { setup, state } = interpreter.run;
  if (!setup.recorded) return false;
  const { artifacts, variables } = setup.recorded.answer(stepAt(task));
  write(task, variables);
  for (const artifact of artifacts) {
    context.written.artifacts.push(artifact);
    state.artifacts[artifact.path] = artifact;
  }
  context.isMapped = true;
  return true;
}

function write({ context, step }: Task, variables: readonly Write[]): void {
  for (const { path, value } of variables) {
    const [name = "", ...rest] = path;
    context.set(path, value, step.id);
    context.targets.push([path.join("."), { kind: "variable", path: [String(name), ...rest] }]);
  }
}
