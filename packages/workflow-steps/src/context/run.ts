import { type Attempts, type Path, type PathPart, Scheduler } from "@uncaged/workflow/interpreter";
import type { JsonSchema } from "@uncaged/workflow";
import type { Adapters } from "../adapter/adapter.ts";
import type { ErrorMap } from "../adapter/error.ts";
import type { ExecutionStatus, ParallelErrorStrategy } from "../document/document.ts";
import type { Origin, RunEvent, RunEventType } from "../document/event.ts";
import { type Checkpoint, checkpointOf } from "../state/checkpoint.ts";
import type {
  Answered,
  Artifact,
  Commit,
  RunState,
  StepAt,
  StepFailure,
  Workflow,
  Write,
} from "../state/state.ts";
import { Variables } from "../state/variables.ts";
import { controlInThread } from "./errors.ts";

/** The reply to an answer to a Pause. */
export type ResumeReply = { ok: true } | { ok: false; reason: string };

/** An answer to a Pause. Repeating a `requestId` has no second effect. */
export type ResumeRequest = { token: string; payload?: unknown; requestId?: string };

/** Control of a run from outside: the part of a context that the engine provides. */
export type RunControl = {
  checkpoint(): Checkpoint;
  onEvent(listener: (event: RunEvent) => void): () => void;
  abort(): void;
  resume(request: ResumeRequest): Promise<ResumeReply>;
  /** Settles when the run ends or pauses. Each answer starts a new promise. */
  done(): Promise<void>;
};

const threadControl: RunControl = {
  checkpoint: () => refuse("read the checkpoint of"),
  onEvent: () => refuse("listen to the events of"),
  abort: () => refuse("abort"),
  resume: () => refuse("resume"),
  done: () => refuse("wait for the end of"),
};

function refuse(action: string): never {
  throw controlInThread(action);
}

/** A question of a Pause. Times are in milliseconds since the epoch. */
export type PauseRequest = {
  stepID: string;
  path: PathPart[];
  token: string;
  reason: string | null;
  /**
   * A JSON Schema for a form, derived from the type of the answer's variable. The engine does not check answers against
   * it.
   */
  form?: JsonSchema;
  expiresAt?: number;
  onTimeout?: string;
};

/** An item that the interpreter yields: a commit to make durable, an event, or a question to answer. */
export type EngineEvent =
  | { kind: "event"; event: RunEvent }
  | { kind: "commit"; role: string; commit: Commit; event: RunEvent | null; attempt?: string }
  | { kind: "wait"; wait: PauseRequest; event: RunEvent; attempt?: string };

/** Options of a run's caller. */
export type RunOptions = {
  /** Configuration such as `LLM_MODEL`. Empty by default: the engine does not read the process's environment. */
  env?: Readonly<Record<string, string>>;
  /** The default strategy for constructs without an `errorStrategy`. Defaults to `fail_fast`. */
  errorStrategy?: ParallelErrorStrategy;
  /** The maximum number of concurrent chains in one construct; 0 (the default) means no limit. */
  maxConcurrency?: number;
  /** A text of the caller, which every event carries. */
  clientRunToken?: string;
};

/** Recorded runs of steps, from a fixture. */
export type RecordedRuns = {
  /** Returns the recorded commit of a run. @throws WorkflowError if the fixture has none. */
  answer: (at: StepAt) => Commit;
  /** Counts a failed run. A later commit records the failure, possibly the commit of another run of the same step. */
  failed: (at: StepAt) => void;
  /** Returns the recorded failure of the next run; null if that run did not fail. */
  failure: (at: StepAt) => { error: ErrorMap; variables: readonly Write[] } | null;
};

type RunSetup = RunOptions & {
  adapters: Adapters;
  /** Recorder of step attempts; absent if the host does not record attempts. */
  attempts?: Attempts;
  /** Whether events carry whole inputs and results. Set when the driver stores long values. */
  wholeValues?: boolean;
  /** Returns the idempotency key of a run of a step; absent outside a thread. */
  keyOf?: (at: StepAt) => string;
  /** Recorded runs, which replace calls; absent in an ordinary run. */
  recorded?: RecordedRuns;
  control: RunControl;
  /** The ids of the parent steps, each followed by a slash; "" for a workflow that is not a child. */
  prefix: string;
  path: Path;
  depth: number;
};

/** A promise with the functions that settle it. */
export type Deferred<T = void> = {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (reason: unknown) => void;
};

/** Creates a promise like `Promise.withResolvers`, which Node 20 lacks. */
export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<T>((...settle) => ([resolve, reject] = settle));
  return { promise, resolve, reject };
}

type Uncommitted = Pick<Written, "variables" | "artifacts" | "failures">;

/** Uncommitted variable writes, files and step failures, in order. */
export class Written {
  variables: Write[] = [];
  artifacts: Artifact[] = [];
  failures: StepFailure[] = [];

  claim(): Uncommitted {
    const { variables, artifacts, failures } = this;
    this.variables = [];
    this.artifacts = [];
    this.failures = [];
    return { variables, artifacts, failures };
  }

  /** Adds uncommitted changes for the next commit. */
  add({
    variables,
    artifacts,
    failures = [],
  }: Omit<Uncommitted, "failures"> & Partial<Uncommitted>): void {
    this.variables.push(...variables);
    this.artifacts.push(...artifacts);
    this.failures.push(...failures);
  }
}

/** One run of a workflow in this process, shared by its contexts and its interpreter. */
export class Run {
  readonly workflow: Workflow;
  readonly setup: RunSetup;
  readonly state: RunState;
  readonly variables: Variables;
  readonly scheduler: Scheduler<EngineEvent, Answered>;
  readonly unclaimed = new Written();
  readonly startedAt = Date.now();
  status: ExecutionStatus = "running";
  currentStepID: string | null = null;
  paused: { nodeID: string; token: string } | null = null;
  #endedAt: number | null = null;
  #moment = { at: Number.NaN, text: "" };

  /** @param around The parent run's unfinished work. A Pause waits for it too. */
  constructor(
    workflow: Workflow,
    state: RunState,
    setup: Partial<RunSetup>,
    around?: Scheduler<EngineEvent, Answered>,
  ) {
    this.scheduler = new Scheduler(around?.flight);
    this.workflow = workflow;
    this.state = state;
    this.variables = new Variables(state.variables);
    const noChild = { prefix: "", path: [], depth: 0 };
    this.setup = { adapters: {}, control: threadControl, ...noChild, ...setup };
  }

  get elapsed(): number {
    return (this.#endedAt ?? Date.now()) - this.startedAt;
  }

  /** Ends the run and returns its duration in milliseconds. */
  end(status: ExecutionStatus): number {
    this.status = status;
    this.#endedAt = Date.now();
    return this.elapsed;
  }

  publish(...parts: Parameters<Run["eventOf"]>): void {
    this.scheduler.publish({ kind: "event", event: this.eventOf(...parts) });
  }

  /** Returns an event with the next sequence number. */
  eventOf(
    type: RunEventType,
    stepID: string | null,
    payload: Record<string, unknown>,
    origin: Origin | null = null,
  ): RunEvent {
    const { state } = this;
    const { clientRunToken } = this.setup;
    state.eventSeq += 1;
    return {
      type,
      stepID,
      payload: withEveryKey(payload),
      seq: state.eventSeq,
      ts: this.#textOf(Date.now()),
      runID: state.runID,
      ...(clientRunToken !== undefined && { clientRunToken }),
      ...(origin?.attempt !== undefined && origin),
    };
  }

  // Cache the text, because many events share a millisecond and formatting the time is the slowest part of an event.
  #textOf(at: number): string {
    if (at !== this.#moment.at) this.#moment = { at, text: new Date(at).toISOString() };
    return this.#moment.text;
  }

  /** Returns the checkpoint of a folded state. */
  checkpointOf(folded: RunState): Checkpoint {
    return checkpointOf(folded, { workflow: this.workflow, status: this.status, now: Date.now() });
  }
}

const withoutJson: ReadonlySet<string> = new Set(["undefined", "function", "symbol"]);

// Documented keys must always be present, but JSON omits keys whose value is undefined.
function withEveryKey(payload: Record<string, unknown>): Record<string, unknown> {
  if (!Object.values(payload).some((value) => withoutJson.has(typeof value))) return payload;
  const entries = Object.entries(payload);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, withoutJson.has(typeof value) ? null : value]),
  );
}
