import { ENTRY } from "../document/constants.ts";
import { setPath } from "../target/set-path.ts";
import type { Artifact, PathPart, Write } from "./commit.ts";
import { type Position, startAt } from "./position.ts";
import type { Workflow } from "./workflow.ts";

/** An answer that a Pause has got. */
export type PauseAnswer = {
  stepID: string;
  path: PathPart[];
  payload: unknown;
  requestId?: string;
  timedOut: boolean;
};

/** All that a run is, apart from what is being done. Values of variables are never changed in place. */
export type RunState = {
  runID: string;
  params: Record<string, unknown>;
  variables: Record<string, unknown>;
  localVars: Record<string, unknown>;
  artifacts: Record<string, Artifact>;
  /** The ids of the steps that are done, each once, in the order in which they first were. */
  completedSteps: Set<string>;
  completedBranches: Record<string, string[]>;
  loopProgress: Record<string, number>;
  position: Position;
  /** Constructs whose marks are of a run before this one: they count when the construct is first entered. */
  carried: Set<string>;
  eventSeq: number;
  writeSeq: number;
  /** Answers that no Pause has taken yet, by `answerKey`: Pauses side by side may have several. */
  answers: Map<string, PauseAnswer>;
  /** The Stop that ended the run. */
  stopped: { id: string; reason: string | null } | null;
};

/** The state of a run that has not begun. */
export function newState(
  { registry, outline: { entries } }: Workflow,
  runID: string,
  params: Record<string, unknown>,
): RunState {
  return {
    runID,
    params,
    variables: registry.initialVariables(),
    localVars: {},
    artifacts: {},
    completedSteps: new Set(),
    completedBranches: {},
    loopProgress: {},
    position: startAt(entries.length === 1 ? (entries[0] as string) : ENTRY),
    carried: new Set(),
    eventSeq: 0,
    writeSeq: 0,
    answers: new Map(),
    stopped: null,
  };
}

/** A copy that does not change with the original. Values are shared: they never change. */
export function copyState(state: RunState): RunState {
  return {
    ...state,
    params: { ...state.params },
    variables: { ...state.variables },
    localVars: { ...state.localVars },
    artifacts: { ...state.artifacts },
    completedSteps: new Set(state.completedSteps),
    completedBranches: { ...state.completedBranches },
    loopProgress: { ...state.loopProgress },
    position: copyPosition(state.position),
    carried: new Set(state.carried),
    answers: new Map(state.answers),
  };
}

function copyPosition({ next, inside }: Position): Position {
  if (!inside) return { next, inside };
  const chains = [...inside.chains].map(([key, chain]) => [key, copyPosition(chain)] as const);
  const run = inside.run && copyState(inside.run);
  return { next, inside: { ...inside, chains: new Map(chains), run } };
}

/** What tells the Pauses of a run apart. */
export const answerKey = (stepID: string, path: readonly PathPart[]): string =>
  JSON.stringify([stepID, path]);

/** Puts one write into the variables. `owned` are the containers that no one else can see. */
export function applyWrite(
  variables: Record<string, unknown>,
  { path, value }: Write,
  owned?: WeakSet<object>,
): void {
  const [name, ...rest] = path as [string, ...(string | number)[]];
  variables[name] = rest.length === 0 ? value : setPath(variables[name], rest, value, owned);
}

/** Changes marks; `null` clears one. */
export function applyMarks<T>(marks: Record<string, T>, changes: Record<string, T | null>): void {
  for (const [id, value] of Object.entries(changes)) {
    if (value === null) delete marks[id];
    else marks[id] = value;
  }
}
