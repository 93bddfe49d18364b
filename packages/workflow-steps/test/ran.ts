import {
  type Adapters,
  type Checkpoint,
  Engine,
  type EngineOptions,
  type ExecutionContext,
  type RegistryDocument,
  type Resumable,
  type RunEvent,
  type StepDocument,
  type WorkflowDocument,
} from "../src/entry/index.ts";

/** Returns a workflow of the given steps. */
export const flow = (steps: StepDocument[], registry: RegistryDocument = {}): WorkflowDocument => ({
  version: "3.18",
  name: "flow",
  registry,
  steps,
});

/** The functions of the `Work_` steps, by id. */
export type Work = Record<string, (context: ExecutionContext) => unknown>;

/** Options of a run. `from` is the checkpoint to resume from. */
export type Trial = EngineOptions & {
  params?: Record<string, unknown>;
  adapters?: Adapters;
  work?: Work;
  from?: Resumable;
  overrides?: Record<string, unknown>;
};

/** The record of a run. */
export type Ran = {
  context: ExecutionContext;
  /** The error that the run rejected with. */
  error: unknown;
  events: RunEvent[];
  checkpoints: Checkpoint[];
  variables: Record<string, unknown>;
  status: string;
  /** The types of a step's events, in order. */
  of: (stepID: string | null) => string;
  /** The ids of the started steps, in order. */
  started: string[];
  /** The payloads of the events of a type, in order. */
  payloads: (type: string, stepID?: string) => Record<string, unknown>[];
};

/** Returns an engine that records its events. */
export function trial(document: WorkflowDocument, { work = {}, ...options }: Trial = {}) {
  const events: RunEvent[] = [];
  const checkpoints: Checkpoint[] = [];
  const engine = new Engine(document, {
    ...options,
    customHandlers: {
      Work: (_engine, context, step) => work[step.id]?.(context),
      ...options.customHandlers,
    },
    onEvent: (event) => {
      events.push(event);
      return options.onEvent?.(event);
    },
    onCheckpoint: (checkpoint) => {
      checkpoints.push(checkpoint);
      return options.onCheckpoint?.(checkpoint);
    },
  });
  return { engine, events, checkpoints };
}

/** Runs a workflow until it ends or pauses. Throws an error that occurs before the first event. */
export async function ran(document: WorkflowDocument, given: Trial = {}): Promise<Ran> {
  const { engine, events, checkpoints } = trial(document, given);
  const { params, adapters, from, overrides } = given;
  let error: unknown = null;
  const run = from
    ? engine.executeFrom(from, adapters, overrides)
    : engine.execute(params, adapters);
  const context = await run.catch((thrown: { ctx?: ExecutionContext }) => {
    if (!thrown.ctx) throw thrown;
    error = thrown;
    return thrown.ctx;
  });
  return {
    ...heard(events),
    context,
    error,
    events,
    checkpoints,
    variables: context.snapshot().variables,
    status: context.status,
  };
}

/** Returns functions that search a list of events. */
export const heard = (events: RunEvent[]): Pick<Ran, "of" | "started" | "payloads"> => ({
  of: (id) =>
    events
      .filter(({ stepID }) => stepID === id)
      .map(({ type }) => type)
      .join(" "),
  started: events.flatMap(({ type, stepID }) => (type === "step_start" ? (stepID ?? "") : [])),
  payloads: (type, id) =>
    events
      .filter((event) => event.type === type && (id === undefined || event.stepID === id))
      .map(({ payload }) => payload),
});

/** Returns a promise with the functions that settle it. */
export const held = <Value = void>() => Promise.withResolvers<Value>();

/** Waits until all ready work has run. After a slow turn of the event loop, also waits for a timer. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve));
}

/** Polls until `holds` returns true. */
export async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !holds(); ) {
    if (Date.now() > end) throw new Error(`still false: ${holds.toString()}`);
    await Bun.sleep(2);
  }
}
