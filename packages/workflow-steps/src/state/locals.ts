import { ExpressionEvaluator } from "../expression/evaluator.ts";
import type { PathPart } from "./commit.ts";
import { chainKey, type Position } from "./position.ts";
import type { RunState } from "./state.ts";
import type { Workflow } from "./workflow.ts";

/**
 * The locals that a step sees which stands at a path of a run: those of the run, and `_item`, `_index` and
 * `_iterDir` of the iterations around it. An `_item` that can't be told is left out.
 */
export function localsAt(
  workflow: Workflow,
  state: RunState,
  path: readonly PathPart[],
): Record<string, unknown> {
  const locals = { ...state.localVars };
  let at: Position | undefined = state.position;
  for (const part of path) {
    const inside: Position["inside"] = at?.next === part.in ? at.inside : null;
    if (!("child" in part)) break;
    const { child, iteration } = part;
    if (iteration !== undefined) {
      const own = iterationLocals(workflow, { ...state, localVars: locals }, part.in, iteration);
      Object.assign(locals, own, inside?.given.get(iteration));
    }
    at = inside?.chains.get(chainKey(child, iteration));
  }
  return locals;
}

function iterationLocals(
  { document, outline }: Workflow,
  { localVars, params, runID, variables }: RunState,
  loop: string,
  iteration: number,
): Record<string, unknown> {
  const { name: workflow, version } = document;
  const SYSVAR = { runID, workflowID: runID, workflow, version };
  const evaluator = new ExpressionEvaluator({ ...params, ...variables, ...localVars, SYSVAR });
  const numbered = { _index: iteration, _iterDir: `${loop}_${iteration}` };
  const step = outline.steps.get(loop);
  if (step?.while !== undefined) return { _item: null, ...numbered };
  try {
    const source = evaluator.resolve(step?.source);
    return Array.isArray(source) ? { _item: source[iteration] ?? null, ...numbered } : numbered;
  } catch {
    return numbered;
  }
}
