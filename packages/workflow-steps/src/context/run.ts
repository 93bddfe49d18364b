import type { Adapters } from "../adapter/adapter.ts";
import type {
  ExecutionStatus,
  ParallelErrorStrategy,
  StepDocument,
  WorkflowDocument,
} from "../document/document.ts";
import type { RunEvent, RunEventType } from "../document/event.ts";
import { sameValue } from "../expression/value.ts";
import { type MarkChanges, noChanges } from "../state/checkpoint.ts";
import { Sizes } from "../state/sizes.ts";
import {
  applyWrite,
  type Artifact,
  type RunState,
  type Workflow,
  type Write,
} from "../state/state.ts";
import type { ChildExecutionContext } from "./context.ts";
import { Feed } from "./feed.ts";

/** What a step of a type of one's own does; its value is `_result`. */
export type Handler = (context: ChildExecutionContext, step: StepDocument) => unknown;

/** How a run is set up. */
export type RunSetup = {
  adapters: Adapters;
  /** Configuration such as `LLM_MODEL`; nothing is read from the process. */
  env: Readonly<Record<string, string>>;
  errorStrategy: ParallelErrorStrategy;
  /** The most chains side by side in one construct; 0 for no limit. */
  maxConcurrency: number;
  handlers: Readonly<Record<string, Handler>>;
  /** Documents of child workflows by the path that a step names. */
  subflows: Readonly<Record<string, WorkflowDocument>>;
  clientRunToken?: string;
  /** The steps that this workflow runs in, each with a slash behind it; "" for one that is no child. */
  place: string;
  /** How many workflows this one is a child of. */
  depth: number;
  workflowID: string;
  /** Whether who drives it keeps what is too long for an event, and so is told inputs and results whole. */
  tellsWhole: boolean;
  /** Milliseconds since the epoch. */
  now: () => number;
};

/** Writes and files that nothing handled, and marks that no step could carry: for the next commit. */
export type Unclaimed = { variables: Write[]; artifacts: Artifact[]; marks: MarkChanges };

/** One run of a workflow in this process: what its contexts and its interpreter share. */
export class Run {
  readonly workflow: Workflow;
  readonly setup: RunSetup;
  readonly state: RunState;
  readonly variables: Variables;
  readonly feed = new Feed();
  readonly startedAt: number;
  status: ExecutionStatus = "running";
  currentStepID: string | null = null;
  paused: { nodeID: string; token: string } | null = null;
  #endedAt: number | null = null;
  #unclaimed = nothing();
  #moment = { at: Number.NaN, text: "" };

  constructor(workflow: Workflow, state: RunState, setup: RunSetup) {
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

  /** Tells of an event. */
  tell(type: RunEventType, stepID: string | null, payload: Record<string, unknown>): void {
    this.feed.tell(this.eventOf(type, stepID, payload));
  }

  /** An event with the next number, for who puts it into the feed himself. */
  eventOf(type: RunEventType, stepID: string | null, payload: Record<string, unknown>): RunEvent {
    const { runID } = this.state;
    const { clientRunToken, now } = this.setup;
    this.state.eventSeq += 1;
    const event = { type, stepID, payload, seq: this.state.eventSeq };
    return {
      ...event,
      ts: this.#textOf(now()),
      runID,
      ...(clientRunToken !== undefined && { clientRunToken }),
    };
  }

  // Many events share a millisecond, and its text takes longer to make than all else of an event.
  #textOf(at: number): string {
    if (at !== this.#moment.at) this.#moment = { at, text: new Date(at).toISOString() };
    return this.#moment.text;
  }

  /** Keeps what no commit has carried for the next one, whoever makes it. */
  leave({ variables = [], artifacts = [], marks = noChanges() }: Partial<Unclaimed>): void {
    this.#unclaimed.variables.push(...variables);
    this.#unclaimed.artifacts.push(...artifacts);
    Object.assign(this.#unclaimed.marks.completedBranches, marks.completedBranches);
    Object.assign(this.#unclaimed.marks.loopProgress, marks.loopProgress);
  }

  /** Takes what was left for the next commit. */
  claim(): Unclaimed {
    const unclaimed = this.#unclaimed;
    this.#unclaimed = nothing();
    return unclaimed;
  }
}

const nothing = (): Unclaimed => ({ variables: [], artifacts: [], marks: noChanges() });

/** A variable before and after a write, as events show it. */
export type Change = { oldValue: unknown; newValue: unknown };

/** The variables of a run while it goes on. A write costs its own size, not that of the variable. */
export class Variables {
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
