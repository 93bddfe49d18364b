import type { PathPart } from "@uncaged/workflow";
import type { LLMUsage } from "../adapter/adapter.ts";
import type { ErrorMap } from "../adapter/error.ts";
import { ENTRY, failure } from "../document/document.ts";
import type { WorkflowDocument } from "../document/format.ts";
import { type Outline, outlineOf } from "../document/outline.ts";
import { Registry } from "../document/registry.ts";

/** The documents of a step workflow: its own, and those of its children by the path that a step names. */
export type Documents = {
  document: WorkflowDocument;
  subflows: Readonly<Record<string, WorkflowDocument>>;
};

/** A workflow's documents, with what is read off its own once. */
export type Workflow = Documents & { registry: Registry; outline: Outline };

/** Reads a document that is valid. @throws WorkflowError `DECLARATION_INVALID` */
export const readWorkflow = ({ document, subflows }: Documents): Workflow => ({
  document,
  subflows,
  registry: new Registry(document.registry),
  outline: outlineOf(document),
});

/** The workflow of a child's run: kept with the step that started it, or built into the bundle. */
export const childWorkflow = ({ subflows }: Workflow, child: ChildRun): Workflow =>
  readWorkflow({
    document: child.document ?? (subflows[child.workflow] as WorkflowDocument),
    subflows,
  });

export type Answered = { payload: unknown; requestId?: string; timedOut: boolean };

/** The position of one run of a step: the step as the log names it, and all constructs around it. */
export type StepAt = { stepID: string; path: readonly PathPart[] };

/**
 * The position of a chain. The positions of a run are a tree by the paths of its commits and all the progress
 * there is: what is recorded under a path is done, and the rest is still to do.
 */
export type Position = {
  /** The step that it comes to, or `RETURN`, `BREAK`. */
  next: string;
  /**
   * The constructs of this chain that were entered: their `if` and their cases are not tested again. That of
   * `next` is open. A checkpoint may know others that the chain, begun again, comes to later.
   */
  insides: Map<string, Inside>;
  /** The loops that this chain has behind it, with the number of their iterations. */
  ended?: Readonly<Record<string, number>>;
};

/** How far a construct is that was entered. */
export type Inside = {
  /** What a step's own work gave that is done: the case of a Branch, and where it led if not to `next`. */
  body: { selected?: string | null; next?: string } | null;
  /** How many iterations of a loop are done without a gap. */
  finished: number;
  /** The number of all iterations when one of them broke out of the loop. */
  broken: number | null;
  /** The chains by `chainKey`, those that ended in the order in which they did. */
  chains: Map<string, Position>;
  /** The locals that a rerun gave a loop's iterations, by number. */
  given: Map<number, Record<string, unknown>>;
  /** The child workflow that the step started: its state, and what it was begun with. */
  child: { state: RunState; begun: ChildRun } | null;
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
  position: Position;
  eventSeq: number;
  writeSeq: number;
  /** Answers that no Pause has taken yet, by `answerKey`: concurrent Pauses may have several. */
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

/** A copy that does not change with the original, but shares its values: they never change. */
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

/** One variable write. `seq` counts the run's: concurrent steps commit in another order than they wrote. */
export type Write = { path: (string | number)[]; value: unknown; seq: number };

/** A child workflow that a step started: what it needs to go on with after a crash. */
export type ChildRun = {
  runID: string;
  params: Record<string, unknown>;
  workflow: string;
  document?: WorkflowDocument;
};

/** What a committed step records, beside its role and its content: the step's meta. */
export type Commit = {
  type: string;
  selected?: string | null;
  /** Of a Stop: the run ends with it. */
  stop?: { reason: string | null };
  outputs: Record<string, unknown> | null;
  variables: Write[];
  artifacts: Artifact[];
  path: PathPart[];
  next: string;
  /** Of a body that led elsewhere than the step's `next`: where the chain goes on after the children. */
  leadsTo?: string;
  /** `body`: its children are still to run; `mark`: it only records that a chain in it has ended. */
  phase: "done" | "body" | "mark";
  /** Of a loop, and of a step that breaks out of one: how many iterations the loop has in all. */
  iterations?: number;
  /** In logs of an older version: the loops that it ended iterations of, with how many are done. */
  loopProgress?: Record<string, number | null>;
  runID: string;
  eventSeq: number;
  durationMs: number;
  child?: ChildRun;
  model?: string;
  usage?: LLMUsage;
  cost?: number | null;
  /** The steps that failed since the last commit without failing the run: nothing else records them. */
  failures?: StepFailure[];
};

/** A run of a step that failed and was handled or dropped. */
export type StepFailure = {
  stepID: string;
  path: PathPart[];
  error: ErrorMap;
  /** The `seq` of each variable write that it had made: the commit has them. */
  wrote: number[];
};

/** A file that was written, without a leading slash. */
export type Artifact = { path: string; size_bytes: number };

// A log holds 1,000 levels; the step around a value takes some of them.
const deepest = 950;

/** A copy of a value as its JSON would be. @throws WorkflowError `VALUE_NOT_JSON`, also over 950 levels. */
export function writable(value: unknown, name: string, depth = 0): unknown {
  if (depth > deepest) throw notJson(name, `has more than ${deepest} levels, or contains itself`);
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
      throw notJson(name, `holds a ${typeof value}`);
  }
  if (value === null) return null;
  const copied = (part: unknown): unknown => writable(part, name, depth + 1);
  if ("toJSON" in value && typeof value.toJSON === "function") return copied(value.toJSON());
  if (Array.isArray(value)) return value.map(copied);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key.toWellFormed(), copied(item)]));
}

const notJson = (name: string, what: string) =>
  failure(
    "VALUE_NOT_JSON",
    `what ${name} is to get ${what}, and JSON can't hold that`,
    "write a value that JSON can hold",
  );
