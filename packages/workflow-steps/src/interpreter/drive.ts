import { truncated } from "@uncaged/workflow";
import { messageOf } from "../adapter/error.ts";
import type { ExecutionContext } from "../context/context.ts";
import type { Answered, Happening } from "../context/feed.ts";
import { copyOf } from "../expression/copy.ts";
import { Chain } from "./chain.ts";
import { Failure } from "./failure.ts";
import type { StepGate } from "./gate.ts";
import { Interpreter } from "./interpreter.ts";
import { runChain } from "./run-chain.ts";
import { removeTemporary } from "./temporary.ts";
import { runError } from "./run-error.ts";

/** How a run ended that did not fail. `reason` is what the Stop says. */
export type RunResult =
  | { status: "completed" }
  | { status: "stopped"; stopID: string; reason: string | null }
  | { status: "cancelled" };

/** `gate` is that of the run that this one is a child of: a Pause holds both. */
export type DriveOptions = { signal?: AbortSignal; resumedFrom?: string; gate?: StepGate };

/**
 * Drives a run from where its state stands to its end: an async generator of what happens, and the
 * only thing that knows how step workflows behave. It does no I/O; the run's adapters do.
 *
 * Steps that run side by side all put into one queue, and what comes out of it is in the order of
 * `seq`. A chain goes on behind a commit only when the next happening was asked for. After the event
 * that ends the run nothing comes any more.
 *
 * @throws RunError after `workflow_failed`; a ParallelError under the strategy `collect`.
 */
export async function* drive(
  context: ExecutionContext,
  { signal, resumedFrom, gate }: DriveOptions = {},
): AsyncGenerator<Happening, RunResult, Answered | undefined> {
  const { run } = context;
  const interpreter = new Interpreter(context, { gate, runChain, drive });
  const cancel = (): void => interpreter.halt("cancelled");
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  const { name, version } = run.workflow.document;
  run.tell("workflow_start", null, {
    name,
    version,
    params: truncated(copyOf(run.state.params)),
    ...(resumedFrom !== undefined && { resumedFrom }),
  });
  const ended = end(interpreter, signal);
  ended.catch(() => undefined);
  try {
    yield* run.feed.happenings();
    return await ended;
  } finally {
    signal?.removeEventListener("abort", cancel);
    interpreter.close();
    run.feed.close();
  }
}

/** Runs the chains and closes the feed behind the event that ends the run. */
async function end(interpreter: Interpreter, signal?: AbortSignal): Promise<RunResult> {
  const { run } = interpreter;
  try {
    const halt = await Promise.race([runAll(interpreter), interpreter.halted]);
    interpreter.close();
    const result = resultOf(interpreter, halt === "cancelled");
    if (result.status !== "cancelled") await removeTemporary(run, signal);
    const duration_ms = run.end(result.status);
    if (result.status === "cancelled") run.tell("workflow_cancelled", null, { duration_ms });
    else {
      const stop = result.status === "stopped" ? { stop_id: result.stopID } : {};
      run.tell("workflow_done", null, { duration_ms, ...stop });
    }
    run.feed.close();
    return result;
  } catch (thrown) {
    interpreter.close();
    const { stepID, error } = thrown instanceof Failure ? thrown : { stepID: null, error: thrown };
    const duration_ms = run.end("failed");
    if (stepID !== null) run.currentStepID = stepID;
    run.tell("workflow_failed", null, {
      error: messageOf(error),
      failed_step_id: stepID,
      duration_ms,
    });
    run.feed.close();
    throw runError(stepID, error);
  }
}

function resultOf({ run }: Interpreter, isCancelled: boolean): RunResult {
  const { stopped } = run.state;
  if (stopped) return { status: "stopped", stopID: stopped.id, reason: stopped.reason };
  return { status: isCancelled ? "cancelled" : "completed" };
}

async function runAll(interpreter: Interpreter): Promise<null> {
  const { run, signal } = interpreter;
  if (run.state.stopped) return null;
  const { position } = run.state;
  const top = new Chain({ path: [], locals: {}, signal, position });
  await runChain(interpreter, top);
  return null;
}
