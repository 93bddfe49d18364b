import type { PathPart } from "@uncaged/workflow/interpreter";
import type { LLMUsage } from "../adapter/adapter.ts";
import type { ErrorMap } from "../adapter/error.ts";
import { ENTRY } from "../document/document.ts";
import type { WorkflowDocument } from "../document/format.ts";
import { type Outline, outlineOf } from "../document/outline.ts";
import { Registry } from "../document/registry.ts";
import { tooDeepForJSON, wrongTypeForJSON } from "./errors.ts";

/** The documents of a step workflow: its own document, and its children's documents by the path in a step. */
export type Documents = {
  document: WorkflowDocument;
  subflows: Readonly<Record<string, WorkflowDocument>>;
};

/** A workflow's documents, with the parsed registry and the outline of its own document. */
export type Workflow = Documents & { registry: Registry; outline: Outline };

/** Reads a valid document. @throws WorkflowError `DECLARATION_INVALID` */
export const readWorkflow = ({ document, subflows }: Documents): Workflow => ({
  document,
  subflows,
  registry: new Registry(document.registry),
  outline: outlineOf(document),
});

/** Returns the workflow of a child's run: recorded with the step that started it, otherwise from the bundle. */
export const childWorkflow = ({ subflows }: Workflow, child: ChildRun): Workflow =>
  readWorkflow({
    document: child.document ?? (subflows[child.workflow] as WorkflowDocument),
    subflows,
  });

export type Answered = { payload: unknown; requestId?: string; timedOut: boolean };

/** A run of a step: the step's name in the log, and the path of all enclosing constructs. */
export type StepAt = { stepID: string; path: readonly PathPart[] };

/**
 * The position of a chain. The positions of a run form a tree along the paths of its commits. They hold all progress:
 * recorded steps are finished, all other steps still have to run.
 */
export type Position = {
  /** The next step, or `RETURN`, `BREAK`. */
  next: string;
  /**
   * The entered constructs of this chain. The run does not test their `if` and cases again. The construct at `next` is
   * open. A checkpoint may have further constructs, which the restarted chain reaches later.
   */
  insides: Map<string, Inside>;
  /** The finished loops of this chain, each with its number of iterations. */
  ended?: Readonly<Record<string, number>>;
};

/** The progress of an entered construct. */
export type Inside = {
  /**
   * The result of the step's own work, once it is finished: the selected case of a Branch, and the next step if it
   * differs from `next`.
   */
  body: { selected?: string | null; next?: string } | null;
  /** Number of finished iterations of a loop, counted from the first without gaps. */
  finished: number;
  /** The total number of iterations, if an iteration broke out of the loop. */
  broken: number | null;
  /** The chains by `chainKey`. Ended chains are in the order of their ends. */
  chains: Map<string, Position>;
  /** Overridden locals of iterations in a rerun, by the iteration's number. */
  given: Map<number, Record<string, unknown>>;
  /** The child workflow that the step started: its state, and the record of its start. */
  child: { state: RunState; begun: ChildRun } | null;
};

/** The state of a run, without work in flight. Values of variables are immutable. */
export type RunState = {
  runID: string;
  params: Record<string, unknown>;
  variables: Record<string, unknown>;
  localVars: Record<string, unknown>;
  artifacts: Record<string, Artifact>;
  /** Ids of the finished steps, without repetitions, in the order of their first end. */
  completedSteps: Set<string>;
  position: Position;
  eventSeq: number;
  writeSeq: number;
  /**
   * Answers that their Pause has not read yet, by `answerKey`. There may be several, because Pauses can be concurrent.
   */
  answers: Map<string, Answered>;
  stopped: { id: string; reason: string | null } | null;
};

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
    position: { next: entries.length === 1 ? (entries[0] as string) : ENTRY, insides: new Map() },
    eventSeq: 0,
    writeSeq: 0,
    answers: new Map(),
    stopped: null,
  };
}

/** Copies a state. The copy shares the immutable values. */
export function copyState(state: RunState): RunState {
  return {
    ...state,
    params: { ...state.params },
    variables: { ...state.variables },
    localVars: { ...state.localVars },
    artifacts: { ...state.artifacts },
    completedSteps: new Set(state.completedSteps),
    position: structuredClone(state.position),
    answers: new Map(state.answers),
  };
}

export const answerKey = (stepID: string, path: readonly PathPart[]): string =>
  JSON.stringify([stepID, path]);

/** One write to a variable. `seq` orders a run's writes, because concurrent steps may commit in another order. */
export type Write = { path: (string | number)[]; value: unknown; seq: number };

/** The record of a child workflow's start, needed to continue the child after a crash. */
export type ChildRun = {
  runID: string;
  params: Record<string, unknown>;
  workflow: string;
  document?: WorkflowDocument;
};

/** The record of a committed step: its meta. */
export type Commit = {
  type: string;
  selected?: string | null;
  /** Set by a Stop, which ends the run. */
  stop?: { reason: string | null };
  outputs: Record<string, unknown> | null;
  variables: Write[];
  artifacts: Artifact[];
  path: PathPart[];
  next: string;
  /** The step after the children, if it differs from the step's `next`. */
  leadsTo?: string;
  /** `body`: the children have not run yet. `mark`: records only the end of a chain in the step. */
  phase: "done" | "body" | "mark";
  /** Total number of iterations, for a loop and for a step that breaks out of a loop. */
  iterations?: number;
  /** Finished iterations by loop; only in logs of older versions. */
  loopProgress?: Record<string, number | null>;
  runID: string;
  eventSeq: number;
  durationMs: number;
  child?: ChildRun;
  model?: string;
  usage?: LLMUsage;
  cost?: number | null;
  /** Handled or dropped failures since the last commit. Only this field records them. */
  failures?: StepFailure[];
};

/** A failed run of a step whose failure was handled or dropped. */
export type StepFailure = {
  stepID: string;
  path: PathPart[];
  error: ErrorMap;
  /** The `seq` of each of the run's variable writes, which the commit contains. */
  wrote: number[];
};

/** A written file. Its path has no leading slash. */
export type Artifact = { path: string; size_bytes: number };

// A log allows 1,000 levels, and some of them enclose the value.
const deepest = 950;

/**
 * Returns a copy of a value as JSON represents it.
 * @throws WorkflowError `VALUE_NOT_JSON`, including for more than 950 levels.
 */
export function writable(value: unknown, name: string, depth = 0): unknown {
  if (depth > deepest) throw tooDeepForJSON(name, deepest);
  switch (typeof value) {
    case "string":
      return value.toWellFormed();
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "undefined":
      return null;
    case "object":
      break;
    default:
      throw wrongTypeForJSON(name, typeof value);
  }
  if (value === null) return null;
  const copied = (part: unknown): unknown => writable(part, name, depth + 1);
  if ("toJSON" in value && typeof value.toJSON === "function") return copied(value.toJSON());
  if (Array.isArray(value)) return value.map(copied);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key.toWellFormed(), copied(item)]));
}
