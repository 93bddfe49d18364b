import type { ChildExecutionContext } from "../context/context.ts";
import type { StepDocument } from "../document/document.ts";
import { getStepType, prefixOf, type StepType } from "../document/step-type.ts";
import type { MarkChanges } from "../state/marks.ts";
import { insideOf } from "../state/place.ts";
import type { Inside } from "../state/position.ts";
import type { Called } from "../step/call.ts";
import type { Chain } from "./chain.ts";
import type { Interpreter } from "./interpreter.ts";

/** One step that is carried out. `inside` is set when it was entered before the run was taken up. */
export type Task = {
  interpreter: Interpreter;
  chain: Chain;
  step: StepDocument;
  /** `null` for a type of the caller's own. */
  type: StepType | null;
  context: ChildExecutionContext;
  signal: AbortSignal;
  inside: Inside | null;
  startedAt: number;
};

/** What a step's own work gave. `next` is where its chain goes on when that is not what the step says. */
export type Done = {
  called?: Called;
  selected?: string | null;
  next?: string;
  /** What goes with the step's commit. */
  marks?: MarkChanges;
  /** Ends the run. */
  stop?: { reason: string | null };
};

/** The type as it is shown: the canonical one, or the prefix of a custom handler. */
export const typeName = (step: Pick<StepDocument, "id" | "type">): string =>
  getStepType(step) ?? step.type ?? prefixOf(step.id);

/** The task of the step that a chain has come to. */
export function taskOf(interpreter: Interpreter, chain: Chain, step: StepDocument): Task {
  const { context, run } = interpreter;
  const locals = chain.handled ? { ...chain.locals, _error: chain.handled } : { ...chain.locals };
  const carried = carriedOf(interpreter, step.id);
  chain.handled = null;
  return {
    interpreter,
    chain,
    step,
    type: getStepType(step),
    context: context.child(locals),
    signal: chain.signal,
    inside: chain.position.inside ?? carried,
    startedAt: run.setup.now(),
  };
}

// Of a checkpoint's marks only those count that the run comes to first.
function carriedOf({ run }: Interpreter, id: string): Inside | null {
  const { state, workflow } = run;
  const isCarried = state.carried.delete(id);
  return isCarried ? insideOf(workflow.outline, id, state) : null;
}
