import { type Attempts, type Path, Scheduler } from "@uncaged/workflow";
import type { Adapters } from "../adapter/adapter.ts";
import type { ExecutionStatus, ParallelErrorStrategy } from "../document/document.ts";
import type { StepDocument, WorkflowDocument } from "../document/format.ts";
import type { Origin, RunEvent, RunEventType } from "../document/event.ts";
import { sameValue } from "../expression/value.ts";
import { Sizes } from "../state/sizes.ts";
import {
  applyWrite,
  type Artifact,
  type Commit,
  type PathPart,
  type RunState,
  type Workflow,
  type Write,
} from "../state/state.ts";
import type { ChildExecutionContext } from "./context.ts";

/** What a Pause asks for. Times are in milliseconds since the epoch. */
export type PauseRequest = {
  stepID: string;
  path: PathPart[];
  token: string;
  reason: string | null;
  expiresAt?: number;
  onTimeout?: string;
};

/** What a Pause got. */
export type Answered = { payload: unknown; requestId?: string; timedOut: boolean };

/**
 * What an interpreter gives. A commit is to be made durable before the next is asked for, and its event
 * published after that; a wait is answered by the value of `next()`.
 */
export type EngineEvent =
  | { kind: "event"; event: RunEvent }
  | { kind: "commit"; role: string; commit: Commit; event: RunEvent | null; attempt?: string }
  | { kind: "wait"; wait: PauseRequest; event: RunEvent; attempt?: string };

/** What a step of a type of one's own does; its value is `_result`. */
export type Handler = (context: ChildExecutionContext, step: StepDocument) => unknown;

/** How a run is set up. */
type RunSetup = {
  adapters: Adapters;
  /** Configuration such as `LLM_MODEL`; nothing is read from the process. */
  env: Readonly<Record<string, string>>;
  errorStrategy: ParallelErrorStrategy;
  /** The most concurrent chains in one construct; 0 for no limit. */
  maxConcurrency: number;
  handlers: Readonly<Record<string, Handler>>;
  /** Documents of child workflows by the path that a step names. */
  subflows: Readonly<Record<string, WorkflowDocument>>;
  clientRunToken?: string;
  /** The steps that this workflow runs in, each with a slash behind it; "" for one that is no child. */
  prefix: string;
  /** The constructs and child runs around this workflow. */
  path: Path;
  /** What records the attempts at its steps, where the host does. */
  attempts?: Attempts;
  /** How many workflows this one is a child of. */
  depth: number;
  workflowID: string;
  /** Whether events have inputs and results whole: whoever drives it stores what is too long for one. */
  wholeValues: boolean;
  /** Milliseconds since the epoch. */
  now: () => number;
};

/** Writes and files of a step that failed where nothing handled it: for the next commit. */
type Unclaimed = { variables: Write[]; artifacts: Artifact[] };

/** One run of a workflow in this process: what its contexts and its interpreter share. */
export class Run {
  readonly workflow: Workflow;
  readonly setup: RunSetup;
  readonly state: RunState;
  readonly variables: Variables;
  readonly scheduler: Scheduler<EngineEvent, Answered>;
  readonly startedAt: number;
  status: ExecutionStatus = "running";
  currentStepID: string | null = null;
  paused: { nodeID: string; token: string } | null = null;
  #endedAt: number | null = null;
  #unclaimed = nothing();
  #moment = { at: Number.NaN, text: "" };

  /** @param around What is in flight of the run that it is a child of: a Pause waits for both. */
  constructor(
    workflow: Workflow,
    state: RunState,
    setup: RunSetup,
    around?: Scheduler<EngineEvent, Answered>,
  ) {
    this.scheduler = new Scheduler(around?.flight);
    this.workflow = workflow;
    this.state = state;
    this.variables = new Variables(state.variables);
    this.setup = setup;
    this.startedAt = setup.now();
  }

  /** How long it has taken, up to its end: milliseconds. */
  get elapsed(): number {
    return (this.#endedAt ?? this.setup.now()) - this.startedAt;
  }

  /** Ends it; gives how long it took. */
  end(status: ExecutionStatus): number {
    this.status = status;
    this.#endedAt = this.setup.now();
    return this.elapsed;
  }

  /** Publishes an event. */
  publish(
    type: RunEventType,
    stepID: string | null,
    payload: Record<string, unknown>,
    origin: Origin | null = null,
  ): void {
    this.scheduler.publish({ kind: "event", event: this.eventOf(type, stepID, payload, origin) });
  }

  /** An event with the next number, for a commit or a wait. */
  eventOf(
    type: RunEventType,
    stepID: string | null,
    payload: Record<string, unknown>,
    origin: Origin | null = null,
  ): RunEvent {
    const { runID } = this.state;
    const { clientRunToken, now } = this.setup;
    this.state.eventSeq += 1;
    const event = { type, stepID, payload, seq: this.state.eventSeq };
    return {
      ...event,
      ts: this.#textOf(now()),
      runID,
      ...(clientRunToken !== undefined && { clientRunToken }),
      ...(origin?.attempt !== undefined && origin),
    };
  }

  // Many events share a millisecond, and its text takes longer to make than all else of an event.
  #textOf(at: number): string {
    if (at !== this.#moment.at) this.#moment = { at, text: new Date(at).toISOString() };
    return this.#moment.text;
  }

  /** Keeps what no commit has carried for the next one, of whatever step. */
  leave({ variables, artifacts }: Unclaimed): void {
    this.#unclaimed.variables.push(...variables);
    this.#unclaimed.artifacts.push(...artifacts);
  }

  /** Takes what was left for the next commit. */
  claim(): Unclaimed {
    const unclaimed = this.#unclaimed;
    this.#unclaimed = nothing();
    return unclaimed;
  }
}

const nothing = (): Unclaimed => ({ variables: [], artifacts: [] });

/** A variable before and after a write, as events show it. */
type Change = { oldValue: unknown; newValue: unknown };

/** The variables of a run while it goes on. A write costs its own size, not that of the variable. */
class Variables {
  readonly #values: Record<string, unknown>;
  readonly #owned = new WeakSet<object>();
  readonly #sizes = new Sizes();

  /** @param values They are changed; the containers in them are not. */
  constructor(values: Record<string, unknown>) {
    this.#values = values;
  }

  /** Writes; null when the value was there already. @throws WorkflowError `PATH_REFUSED` */
  write(write: Write): Change | null {
    const { path, value } = write;
    const [name, ...rest] = path as [string, ...(string | number)[]];
    const before = Object.hasOwn(this.#values, name) ? (this.#values[name] ?? null) : null;
    const isSame = sameValue(valueAt(before, rest), value);
    const oldValue = isSame ? null : this.#sizes.shown(before);
    this.#sizes.count(before, rest, value, () => {
      applyWrite(this.#values, write, this.#owned);
      return this.#values[name];
    });
    return isSame ? null : { oldValue, newValue: this.#sizes.shown(this.#values[name]) };
  }
}

const valueAt = (root: unknown, path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key)
        ? (value as Record<string | number, unknown>)[key]
        : undefined,
    root,
  );
