import type { LLMUsage } from "../adapter/adapter.ts";
import { ENTRY, failure } from "../document/document.ts";
import type { WorkflowDocument } from "../document/format.ts";
import { type Outline, outlineOf } from "../outline/outline.ts";
import { Registry } from "../registry/registry.ts";
import { setPath } from "../target/target.ts";
import { type Position, startAt } from "./position.ts";

/** An answer that a Pause has got. */
export type PauseAnswer = {
  stepID: string;
  path: PathPart[];
  payload: unknown;
  requestId?: string;
  timedOut: boolean;
};

/** How far constructs are, as a checkpoint has it: the finished children, the finished iterations. */
export type Marks = {
  completedBranches: Record<string, string[]>;
  loopProgress: Record<string, number>;
};

const noMarks = (): Marks => ({ completedBranches: {}, loopProgress: {} });

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
  /** The marks of an imported checkpoint: each counts when its construct is first come to. */
  imported: Marks;
  eventSeq: number;
  writeSeq: number;
  /** Answers that no Pause has taken yet, by `answerKey`: concurrent Pauses may have several. */
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
    position: startAt(entries.length === 1 ? (entries[0] as string) : ENTRY),
    imported: noMarks(),
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
    position: copyPosition(state.position),
    imported: {
      completedBranches: { ...state.imported.completedBranches },
      loopProgress: { ...state.imported.loopProgress },
    },
    answers: new Map(state.answers),
  };
}

function copyPosition({ next, inside }: Position): Position {
  if (!inside) return { next, inside };
  const chains = [...inside.chains].map(([key, chain]) => [key, copyPosition(chain)] as const);
  const run = inside.run && copyState(inside.run);
  return { next, inside: { ...inside, chains: new Map(chains), run } };
}

/** The key of a Pause in its run. */
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

/**
 * One variable write: the path that was written, not the whole variable. `seq` counts the run's
 * writes: concurrent steps are committed in another order than they wrote.
 */
export type Write = { path: (string | number)[]; value: unknown; seq: number };

/**
 * One construct that a step lies in: `in` is the construct's step id and `child` the entry of the chain;
 * a loop also has the iteration. A child workflow's chain has the run's id instead.
 */
export type PathPart =
  | { in: string; child: string; iteration?: number }
  | { in: string; run: string };

/** A child workflow that a step started: what it needs to go on with after a crash. */
export type ChildRun = {
  runID: string;
  params: Record<string, unknown>;
  /** The path that the step names. */
  workflow: string;
  /** The child's document, where it is not built into the bundle. */
  document?: WorkflowDocument;
};

/**
 * What a committed step records, beside its role and its content: the step's meta.
 *
 * `phase` is `done`; `body` when the step's own body is finished and its children are not; `mark` when
 * the step only records that a chain of the construct has ended.
 */
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
};

/** A file that was written, without a leading slash. */
export type Artifact = { path: string; size_bytes: number };

// A log holds 1,000 levels; the step around a value takes some of them.
const deepest = 950;

/**
 * A copy of a value as a variable may hold it: what its JSON would be.
 *
 * @throws WorkflowError `VALUE_NOT_JSON` for a value inside itself, one nested over 950 levels, a
 * function, a symbol and a BigInt.
 */
export function writable(value: unknown, name: string): unknown {
  const isPlainText = typeof value === "string" && value.isWellFormed();
  return isPlainText ? value : jsonValue(value, name, 0);
}

function jsonValue(value: unknown, name: string, depth: number): unknown {
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
      return value === null ? null : partsOf(value, name, depth);
    default:
      throw notJson(name, `holds a ${typeof value}`);
  }
}

function partsOf(value: object, name: string, depth: number): unknown {
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return jsonValue(value.toJSON(), name, depth + 1);
  }
  if (Array.isArray(value)) return value.map((item) => jsonValue(item, name, depth + 1));
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries.map(([key, item]) => [key.toWellFormed(), jsonValue(item, name, depth + 1)]),
  );
}

const notJson = (name: string, what: string) =>
  failure(
    "VALUE_NOT_JSON",
    `what ${name} is to get ${what}, and JSON can't hold that`,
    "write a value that JSON can hold",
  );

/** A document with what is read off it once. */
export type Workflow = { document: WorkflowDocument; registry: Registry; outline: Outline };

/** Reads a document that is valid. @throws WorkflowError `DECLARATION_INVALID` */
export const readWorkflow = (document: WorkflowDocument): Workflow => ({
  document,
  registry: new Registry(document.registry),
  outline: outlineOf(document),
});

type Past = { base: unknown; baseSeq: number; writes: Write[]; isStale: boolean };

/**
 * The variables as committed writes make them. Concurrent steps are committed in another
 * order than they wrote: a write that comes late is put where it belongs, and the variable is made
 * again from the last time that it was written whole.
 */
export class WriteHistory {
  readonly #variables: Record<string, unknown>;
  // What the writes below have made: values themselves are shared with the log.
  readonly #owned = new WeakSet<object>();
  readonly #pasts = new Map<string, Past>();

  /** @param variables The values to begin with; they are changed. */
  constructor(variables: Record<string, unknown>) {
    this.#variables = variables;
  }

  add(write: Write): void {
    const name = String(write.path[0]);
    let past = this.#pasts.get(name);
    if (!past) {
      past = { base: this.#variables[name], baseSeq: 0, writes: [], isStale: false };
      this.#pasts.set(name, past);
    }
    if (write.seq <= past.baseSeq) return;
    const isLast = write.seq > (past.writes.at(-1)?.seq ?? past.baseSeq);
    if (write.path.length === 1) {
      past.writes = past.writes.filter(({ seq }) => seq > write.seq);
      past.base = write.value;
      past.baseSeq = write.seq;
    } else if (isLast) {
      past.writes.push(write);
    } else {
      const at = past.writes.findLastIndex(({ seq }) => seq < write.seq);
      past.writes.splice(at + 1, 0, write);
    }
    if (isLast && !past.isStale) applyWrite(this.#variables, write, this.#owned);
    else past.isStale = true;
  }

  /** The variables with every write in its place. */
  settled(): Record<string, unknown> {
    for (const [name, past] of this.#pasts) {
      if (!past.isStale) continue;
      this.#variables[name] = past.base;
      for (const write of past.writes) applyWrite(this.#variables, write, this.#owned);
      past.isStale = false;
    }
    return this.#variables;
  }
}
