import { WorkflowError } from "@uncaged/workflow";
import { ENTRY } from "../document/constants.ts";
import type { PathPart } from "./commit.ts";
import type { FindWorkflow } from "./fold.ts";
import { giveAt } from "./overrides.ts";
import { chainAt, chainKey, type Inside, type Position, startAt } from "./position.ts";
import type { RunState } from "./state.ts";
import { idIn, type StepPlace } from "./step-place.ts";
import type { Workflow } from "./workflow.ts";

/** A run, the one of the whole thread or a child's, and the part of a path that lies in it. */
type RunAt = { workflow: Workflow; state: RunState; path: readonly PathPart[] };

/**
 * The innermost run that a path leads into.
 *
 * @throws WorkflowError `PLACE_UNKNOWN` (missing) when no such run is open.
 */
export function runAt({ workflow, state, path }: RunAt, find: FindWorkflow): RunAt {
  const at = path.findIndex((part) => "run" in part);
  const part = path[at];
  if (!part || !("run" in part)) return { workflow, state, path };
  const inside = openAt(state.position, path.slice(0, at), part.in);
  if (!inside?.run || !inside.child || inside.run.runID !== part.run) {
    throw unknownPlace(`no workflow ${part.run} that ${part.in} runs is open`);
  }
  const inner = { workflow: find(inside.child), state: inside.run, path: path.slice(at + 1) };
  return runAt(inner, find);
}

/**
 * Has a run go on with a step at a place, and with other values: those of the run that the step is of.
 * All other chains stay where they stand. The state is changed.
 *
 * @throws WorkflowError `PLACE_UNKNOWN` (missing) when the run can't come to that place, and those of
 * `giveAt`.
 */
export function beginAt(
  whole: { workflow: Workflow; state: RunState },
  place: StepPlace,
  overrides: Record<string, unknown>,
  find: FindWorkflow,
): void {
  const { workflow, state, path } = runAt({ ...whole, path: place.path }, find);
  const id = idIn(place.stepID, place.path);
  if (!workflow.outline.steps.has(id)) throw unknownPlace(`there is no step ${id}`);
  checkWay(workflow, state, path);
  const chain = chainAt(state.position, path);
  if (chain.next !== id) Object.assign(chain, startAt(id));
  giveAt(workflow, state, path, overrides);
}

function checkWay({ outline }: Workflow, state: RunState, path: readonly PathPart[]): void {
  for (const [depth, part] of path.entries()) {
    const isKnown = part.in === ENTRY || outline.steps.has(part.in);
    if (!isKnown) throw unknownPlace(`there is no step ${part.in}`);
    if (!("child" in part)) continue;
    if (!outline.steps.has(part.child)) throw unknownPlace(`there is no step ${part.child}`);
    const inside = openAt(state.position, path.slice(0, depth), part.in);
    if ((part.iteration ?? 0) < (inside?.finished ?? 0)) {
      throw unknownPlace(`iteration ${part.iteration} of ${part.in} is done`);
    }
    // What is entered anew has no marks of the time before.
    if (!inside) delete state.completedBranches[part.in];
    if (!inside) delete state.loopProgress[part.in];
  }
}

/** A construct that was entered; null when it was not. */
function openAt(root: Position, path: readonly PathPart[], construct: string): Inside | null {
  let at: Position | undefined = root;
  for (const part of path) {
    const inside: Inside | null = at?.next === part.in ? at.inside : null;
    if (!inside || !("child" in part)) return null;
    const { child, iteration } = part;
    at = inside.chains.get(chainKey(child, iteration));
  }
  return at?.next === construct ? at.inside : null;
}

const unknownPlace = (why: string): WorkflowError =>
  new WorkflowError({
    code: "PLACE_UNKNOWN",
    kind: "missing",
    message: `the run can't go on at that place: ${why}`,
    hint: "take the place as the thread's own steps tell it, and keep the steps before it",
  });
