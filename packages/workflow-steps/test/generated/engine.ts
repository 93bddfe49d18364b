import type { ExecutionContext, WorkflowSnapshot } from "../../src/context/context.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { RunEvent } from "../../src/document/event.ts";
import type { Checkpoint } from "../../src/state/checkpoint.ts";
import type { Generated } from "./draft.ts";
import { adaptersOf, answerTo, handlerOf, inTime } from "./run.ts";

/** A run by an Engine: its events, each checkpoint with the state at that moment, and its end. */
export type EngineOutcome = {
  events: RunEvent[];
  checkpoints: { checkpoint: Checkpoint; snapshot: WorkflowSnapshot }[];
  context: ExecutionContext;
};

/** Runs a workflow with an Engine, optionally from a checkpoint, and answers each Pause. */
export async function runEngine(
  { document, subflows, maxConcurrency, seed }: Generated,
  from?: Checkpoint,
): Promise<EngineOutcome> {
  const events: RunEvent[] = [];
  const checkpoints: EngineOutcome["checkpoints"] = [];
  const handler = handlerOf(seed);
  let running: ExecutionContext | null = null;
  const engine = new Engine(document, {
    onEvent: (event) => events.push(event),
    onCheckpoint: (checkpoint) => {
      if (running) checkpoints.push({ checkpoint, snapshot: running.snapshot() });
    },
    customHandlers: {
      Custom: (_engine, context, step) => handler(context.child({}), step),
    },
    subflows,
    maxConcurrency,
  });
  const adapters = adaptersOf(seed);
  const started = from ? engine.executeFrom(from, adapters) : engine.start({}, adapters);
  running = started instanceof Promise ? null : started;
  const context = await inTime(answered(Promise.resolve(started)), "the engine's run");
  return { events, checkpoints, context };
}

/** Answers each Pause until the run is completed or failed. */
async function answered(started: Promise<ExecutionContext>): Promise<ExecutionContext> {
  try {
    const context = await started;
    for (;;) {
      const { paused, status } = context.snapshot();
      if (!paused && status !== "running") return context;
      if (paused) {
        await context.resume({ token: paused.token, payload: answerTo(paused.nodeID) });
      }
      await context.done;
    }
  } catch (error) {
    if (error instanceof Error && "ctx" in error) return error.ctx as ExecutionContext;
    throw error;
  }
}
