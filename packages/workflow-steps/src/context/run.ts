import { type Attempts, type Path, type PathPart, Scheduler } from "@uncaged/workflow/interpreter";
import type { JsonSchema } from "@uncaged/workflow";
import type { Adapters } from "../adapter/adapter.ts";
import type { ErrorMap } from "../adapter/error.ts";
import { type ExecutionStatus, failure, type ParallelErrorStrategy } from "../document/document.ts";
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

/** The reply to an answer to a Pause. */
export type ResumeReply = { ok: true } | { ok: false; reason: string };

/** An answer to a Pause. The same `requestId` again has no second effect. */
export type ResumeRequest = { token: string; payload?: unknown; requestId?: string };

/** What a program can do to a run from outside: the part of a context that its engine gives. */
export type RunControl = {
  checkpoint(): Checkpoint;
  onEvent(listener: (event: RunEvent) => void): () => void;
  abort(): void;
  resume(request: ResumeRequest): Promise<ResumeReply>;
  /** Settles when the run has ended or is paused; after an answer it is another promise. */
  done(): Promise<void>;
};

const threadControl: RunControl = {
  checkpoint: () => refuse("read the checkpoint"),
  onEvent: () => refuse("listen to the events"),
  abort: () => refuse("abort"),
  resume: () => refuse("resume"),
  done: () => refuse("wait for the end"),
};

function refuse(what: string): never {
  throw failure(
    "THREAD_CONTROL",
    `a step in a thread can't ${what} of its own run`,
    "a thread is controlled from outside: uncaged-workflow, or its client",
  );
}

/** What a Pause asks for. Times are in milliseconds since the epoch. */
export type PauseRequest = {
  stepID: string;
  path: PathPart[];
  token: string;
  reason: string | null;
  /** What a form asks for, as a JSON Schema: the type of the answer's variable. Answers are not checked. */
  form?: JsonSchema;
  expiresAt?: number;
  onTimeout?: string;
};

/** What an interpreter gives: commits to be made durable, their events, and questions to be answered. */
export type EngineEvent =
  | { kind: "event"; event: RunEvent }
  | { kind: "commit"; role: string; commit: Commit; event: RunEvent | null; attempt?: string }
  | { kind: "wait"; wait: PauseRequest; event: RunEvent; attempt?: string };

/** How a run is set up by whoever starts it. */
export type RunOptions = {
  /** Configuration such as `LLM_MODEL`; none when not given: nothing is read from the process. */
  env?: Readonly<Record<string, string>>;
  /** For constructs that do not say; `fail_fast` when not given. */
  errorStrategy?: ParallelErrorStrategy;
  /** The most concurrent chains in one construct; 0, the default, for no limit. */
  maxConcurrency?: number;
  /** A text of the caller's own that every event carries. */
  clientRunToken?: string;
};

/** What a fixture has recorded of the runs of steps. */
export type RecordedRuns = {
  /** What a run committed. @throws WorkflowError where nothing was recorded of it. */
  answer: (at: StepAt) => Commit;
  /** Counts a run that has failed: it is committed with what comes after it, another run of the same step for example. */
  failed: (at: StepAt) => void;
  /** How the next run failed; null for one that did not. */
  failure: (at: StepAt) => { error: ErrorMap; variables: readonly Write[] } | null;
};

type RunSetup = RunOptions & {
  adapters: Adapters;
  /** What records the attempts at its steps, where the host does. */
  attempts?: Attempts;
  /** Whether events have inputs and results whole: whoever drives it stores what is too long for one. */
  wholeValues?: boolean;
  /** The idempotency key of the run that a step is in, where its thread has one. */
  keyOf?: (at: StepAt) => string;
  /** What a fixture has recorded, where one answers: then nothing is called. */
  recorded?: RecordedRuns;
  control: RunControl;
  /** The steps that this workflow runs in, each with a slash behind it; "" for one that is no child. */
  prefix: string;
  path: Path;
  depth: number;
};

/** A promise, and what settles it. */
export type Deferred<T = void> = {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (reason: unknown) => void;
};

/** `Promise.withResolvers`, which Node 20 does not have. */
export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<T>((...settle) => ([resolve, reject] = settle));
  return { promise, resolve, reject };
}

type Uncommitted = Pick<Written, "variables" | "artifacts" | "failures">;

/** Variable writes, files and failures of steps, in the order in which they came, that no commit has yet. */
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

  /** Adds what others left: it is for the next commit. */
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

/** One run of a workflow in this process: what its contexts and its interpreter share. */
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

  /** @param around What is in flight of the run that it is a child of: a Pause waits for both. */
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

  /** @returns how long it took. */
  end(status: ExecutionStatus): number {
    this.status = status;
    this.#endedAt = Date.now();
    return this.elapsed;
  }

  publish(...parts: Parameters<Run["eventOf"]>): void {
    this.scheduler.publish({ kind: "event", event: this.eventOf(...parts) });
  }

  /** An event with the next number, for a commit or a wait. */
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

  // Many events share a millisecond, and its text takes longer to make than all else of an event.
  #textOf(at: number): string {
    if (at !== this.#moment.at) this.#moment = { at, text: new Date(at).toISOString() };
    return this.#moment.text;
  }

  /** The checkpoint of a state that its commits made. */
  checkpointOf(folded: RunState): Checkpoint {
    return checkpointOf(folded, { workflow: this.workflow, status: this.status, now: Date.now() });
  }
}

const withoutJson: ReadonlySet<string> = new Set(["undefined", "function", "symbol"]);

// JSON leaves out a key whose value it can't hold: readers would miss a key that is documented.
function withEveryKey(payload: Record<string, unknown>): Record<string, unknown> {
  if (!Object.values(payload).some((value) => withoutJson.has(typeof value))) return payload;
  const entries = Object.entries(payload);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, withoutJson.has(typeof value) ? null : value]),
  );
}
