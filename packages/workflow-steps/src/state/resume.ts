import { type PathPart, WorkflowError } from "@uncaged/workflow";
import { ENTRY } from "../document/document.ts";
import { ExpressionEvaluator } from "../expression/expression.ts";
import { isPlain } from "../expression/value.ts";
import { idIn } from "./path.ts";
import { chainAt, insideAt, openAt, startAt } from "./position.ts";
import { childWorkflow, type RunState, type StepAt, type Workflow, writable } from "./state.ts";

/** A run, the one of the whole thread or a child's, and the part of a path that lies in it. */
type RunAt = { workflow: Workflow; state: RunState; path: readonly PathPart[] };

/** The innermost run that a path leads into. @throws WorkflowError `PLACE_UNKNOWN` (missing) */
export function runAt({ workflow, state, path }: RunAt): RunAt {
  const at = path.findIndex((part) => "run" in part);
  const part = path[at];
  if (!part || !("run" in part)) return { workflow, state, path };
  const child = openAt(state.position, path.slice(0, at), part.in)?.child;
  if (child?.state.runID !== part.run) {
    throw unknownPath(`no workflow ${part.run} that ${part.in} runs is open`);
  }
  const inner = childWorkflow(workflow, child.begun);
  return runAt({ workflow: inner, state: child.state, path: path.slice(at + 1) });
}

/**
 * Has a run go on with a step at a path, and with other values of the run that the step is of; all other
 * chains stay where they are. The state is changed.
 *
 * @throws WorkflowError `PLACE_UNKNOWN` (missing), and those of {@link giveAt}.
 */
export function beginAt(
  whole: Omit<RunAt, "path">,
  at: StepAt,
  overrides: Record<string, unknown>,
): void {
  const run = runAt({ ...whole, path: at.path });
  checkPath(run, idIn(at));
  const chain = chainAt(run.state.position, run.path);
  if (chain.next !== idIn(at)) Object.assign(chain, startAt(idIn(at)));
  giveAt(run, overrides);
}

function checkPath({ workflow, state, path }: RunAt, id: string): void {
  const named = path.flatMap((part) => ("child" in part ? [part.in, part.child] : [part.in]));
  const { steps } = workflow.outline;
  const unknown = [id, ...named].find((one) => one !== ENTRY && !steps.has(one));
  if (unknown !== undefined) throw unknownPath(`there is no step ${unknown}`);
  for (const [depth, part] of path.entries()) {
    const inside = openAt(state.position, path.slice(0, depth), part.in);
    const { iteration = 0 } = part as { iteration?: number };
    if (inside && iteration < inside.finished) {
      throw unknownPath(`iteration ${iteration} of ${part.in} is done`);
    }
    if (inside) continue;
    // What is entered anew has no marks of the time before.
    delete state.imported.completedBranches[part.in];
    delete state.imported.loopProgress[part.in];
  }
}

const unknownPath = (why: string): WorkflowError =>
  WorkflowError.missing(
    "PLACE_UNKNOWN",
    `the run can't go on at that path: ${why}`,
    "take the path as the thread's own steps have it, and keep the steps before it",
  );

const ofIteration: ReadonlySet<string> = new Set(["_item", "_index", "_iterDir"]);

/**
 * Puts other values into a run that goes on at a path. An `_item`, `_index` and `_iterDir` are those of the
 * innermost iteration there, and of no later one.
 *
 * @throws WorkflowError `OVERRIDE_UNKNOWN` (missing), `PARAMS_INVALID`, `VALUE_NOT_JSON`.
 */
export function giveAt(
  { workflow: { registry }, state, path }: RunAt,
  overrides: Record<string, unknown>,
): void {
  if (!isPlain(overrides)) {
    const message = "overrides must be an object, with a new value for each name";
    throw badOverride(message, "give { $variable: value }");
  }
  const given = givenAt(state, path);
  for (const [name, value] of Object.entries(overrides)) {
    const written = writable(value, name);
    if (registry.vars.some((one) => one.name === name)) state.variables[name] = written;
    else if (registry.params.some((one) => one.name === name)) {
      state.params[name] = registry.someParams({ [name]: written })[name];
    } else if (/^_(?!_)/.test(name)) {
      const values = given && ofIteration.has(name) ? given : state.localVars;
      values[name] = written;
    } else {
      const names = [...registry.vars, ...registry.params].map((one) => one.name).slice(0, 20);
      const message = `the workflow declares no ${JSON.stringify(name)} that could get another value`;
      throw badOverride(message, `it declares ${names.join(", ") || "no names"}`);
    }
  }
}

/** The locals given to the innermost iteration on a path, to be changed; null when it lies in none. */
function givenAt(state: RunState, path: readonly PathPart[]): Record<string, unknown> | null {
  const depth = path.findLastIndex((part) => "child" in part && part.iteration !== undefined);
  if (depth < 0) return null;
  const part = path[depth] as { in: string; iteration: number };
  const { given } = insideAt(chainAt(state.position, path.slice(0, depth)), part.in);
  const locals = { ...given.get(part.iteration) };
  given.set(part.iteration, locals);
  return locals;
}

const badOverride = (message: string, hint: string): WorkflowError =>
  WorkflowError.missing("OVERRIDE_UNKNOWN", message, hint);

/** The locals that a step at a path sees, of the run and the iterations around it. */
export function localsAt({ workflow, state, path }: RunAt): Record<string, unknown> {
  const locals = { ...state.localVars };
  for (const [depth, part] of path.entries()) {
    if (!("child" in part) || part.iteration === undefined) continue;
    const given = openAt(state.position, path.slice(0, depth), part.in)?.given.get(part.iteration);
    Object.assign(locals, {
      ...itemAt(workflow, { ...state, localVars: locals }, part.in, part.iteration),
      _index: part.iteration,
      _iterDir: `${part.in}_${part.iteration}`,
      ...given,
    });
  }
  return locals;
}

function itemAt(
  { document, outline }: Workflow,
  { localVars, params, runID, variables }: RunState,
  loop: string,
  iteration: number,
): { _item?: unknown } {
  const { name, version } = document;
  const SYSVAR = { runID, workflowID: runID, workflow: name, version };
  const evaluator = new ExpressionEvaluator({ ...params, ...variables, ...localVars, SYSVAR });
  const step = outline.steps.get(loop);
  if (step?.while !== undefined) return { _item: null };
  try {
    const source = evaluator.resolve(step?.source);
    return Array.isArray(source) ? { _item: source[iteration] ?? null } : {};
  } catch {
    return {};
  }
}
