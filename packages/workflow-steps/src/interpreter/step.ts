import { buildErrorMap, messageOf } from "../adapter/error.ts";
import { BREAK, RETURN } from "../document/constants.ts";
import type { StepDocument } from "../document/document.ts";
import type { Commit } from "../state/commit.ts";
import { copyOf } from "../expression/copy.ts";
import { type MarkChanges, noChanges } from "../state/marks.ts";
import { hasBody, printConstruct, work } from "./body.ts";
import type { Chain } from "./chain.ts";
import { Failure } from "./failure.ts";
import { runFork } from "./fork.ts";
import type { Interpreter, Reached } from "./interpreter.ts";
import { outputsOf, resolvedInputs } from "./shown.ts";
import { type Done, type Task, taskOf, typeName } from "./task.ts";

/**
 * Carries out the step that a chain has come to and gives the next one's id. The step is committed,
 * or it was skipped, or its failure went to its handler.
 *
 * @throws Failure for a step that failed; the signal's reason when the chain was aborted.
 */
export async function runStep(
  interpreter: Interpreter,
  chain: Chain,
  step: StepDocument,
): Promise<{ next: string; isSkipped: boolean }> {
  const { gate, run } = interpreter;
  await gate.enter();
  const task = taskOf(interpreter, chain, step);
  try {
    chain.signal.throwIfAborted();
    if (!task.inside && isLeftOut(task)) return { next: nextOf(step), isSkipped: true };
    run.currentStepID = step.id;
    run.tell("step_start", step.id, {
      type: typeName(task.step),
      meta: copyOf(step.meta ?? null),
      resolvedInputs: resolvedInputs(task),
    });
    const next = await carryOut(task);
    return { next, isSkipped: false };
  } catch (error) {
    return { next: failed(task, error), isSkipped: false };
  } finally {
    task.context.isOver = true;
    gate.leave();
  }
}

function isLeftOut({ interpreter, context, step }: Task): boolean {
  if (step.if === undefined || context.condition(step.if)) return false;
  interpreter.run.tell("step_skipped", step.id, { condition: step.if });
  return true;
}

async function carryOut(task: Task): Promise<string> {
  const { step, inside, type } = task;
  const done: Done = inside?.body ?? (await work(task));
  const children = type === "Loop" ? [] : (step.children ?? []);
  if (children.length === 0) return await finish(task, done, done.marks ?? noChanges());
  if (!inside?.body && hasBody(task)) await commitBody(task, done);
  const { isBroken, marks } = await runFork(task, step.id, children);
  return await finish(task, isBroken ? { ...done, next: BREAK } : done, marks);
}

/** Commits that a step's own work is done and that its children come next. */
async function commitBody(task: Task, done: Done): Promise<void> {
  const { interpreter, chain, step } = task;
  const reached = reachedOf(task, done, "body", step.id);
  const body = done.next === undefined ? reached : { ...reached, leadsTo: done.next };
  await interpreter.commit(step.id, body, chain, noChanges(), null);
}

async function finish(task: Task, done: Done, marks: MarkChanges): Promise<string> {
  const { interpreter, chain, step } = task;
  const next = done.next ?? nextOf(step);
  printConstruct(task);
  const ending = chain.marksAt(next);
  const reached = reachedOf(task, done, "done", next);
  const told = {
    outputs: reached.outputs,
    ...(done.selected !== undefined && { selected: done.selected }),
  };
  const all = {
    completedBranches: { ...marks.completedBranches, ...ending.completedBranches },
    loopProgress: { ...marks.loopProgress, ...ending.loopProgress },
  };
  await interpreter.commit(step.id, reached, chain, all, told);
  if (done.stop) {
    interpreter.run.state.stopped = { id: step.id, reason: done.stop.reason };
    interpreter.halt("stopped");
    chain.signal.throwIfAborted();
  }
  return next;
}

function reachedOf(
  task: Task,
  { called, selected, stop }: Done,
  phase: Commit["phase"],
  next: string,
): Reached {
  const { written } = task.context;
  const { variables, artifacts } = written;
  written.variables = [];
  written.artifacts = [];
  return {
    type: typeName(task.step),
    ...(selected !== undefined && { selected }),
    ...(stop && { stop }),
    outputs: outputsOf(task),
    variables,
    artifacts,
    next,
    phase,
    durationMs: task.interpreter.run.setup.now() - task.startedAt,
    ...(called?.model !== undefined && { model: called.model }),
    ...(called?.usage && { usage: called.usage }),
    ...(called?.cost !== undefined && { cost: called.cost }),
  };
}

/** What a failure leads to: the id of the step's handler, or a Failure. */
function failed(task: Task, error: unknown): string {
  const { chain, context, interpreter, step } = task;
  const isOver = error instanceof Failure || chain.signal.aborted;
  if (isOver || step.onError === undefined) interpreter.run.leave(context.written);
  else chain.leave(context.written);
  if (isOver) throw error;
  interpreter.run.tell("step_error", step.id, { error: messageOf(error) });
  if (step.onError === undefined) throw new Failure(step.id, error);
  chain.handled = buildErrorMap(error, step.id);
  return step.onError;
}

const nextOf = (step: StepDocument): string => step.next ?? RETURN;
