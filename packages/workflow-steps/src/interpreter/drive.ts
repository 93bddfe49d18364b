import { truncated } from "@uncaged/workflow/interpreter";
import { buildErrorMap, messageOf } from "../adapter/error.ts";
import type { ExecutionContext } from "../context/context.ts";
import type { EngineEvent } from "../context/run.ts";
import { BREAK, callTypes, ENTRY, getStepType, RETURN } from "../document/document.ts";
import type { StepDocument } from "../document/format.ts";
import { copyOf, ownValue } from "../expression/value.ts";
import { runsWorkflow } from "../document/outline.ts";
import { moveOn } from "../state/position.ts";
import type { Answered, Commit } from "../state/state.ts";
import { type Call, type Called, shown, untilAborted, whole } from "../step/call.ts";
import { executors } from "../step/tool.ts";
import { failAsRecorded, recordFailure, stepAt, writeRecorded } from "./answer.ts";
import { chooseCase, runEntries, runFork, runLoop } from "./construct.ts";
import {
  type Chain,
  chainAt,
  type ChainEnd,
  type DriveOptions,
  type Done,
  Interpreter,
  isEnd,
  originOf,
  type Reached,
  renew,
  type Task,
  taskOf,
  typeName,
} from "./interpreter.ts";
import {
  announceFiles,
  mapOutputs,
  outputsOf,
  print,
  removeTemporary,
  resolvedInputs,
  writeFile,
  writeTarget,
} from "./output.ts";
import { Failure, ParallelError, RunError } from "./parallel.ts";
import { runPause, stop } from "./pause.ts";
import { runSubflow } from "./subflow.ts";
import { idleCycle, noHandler, noNextStep } from "./errors.ts";

/** The end of a run that did not fail. `reason` is the Stop's reason. */
export type RunResult =
  | { status: "completed" }
  | { status: "stopped"; stopID: string; reason: string | null }
  | { status: "cancelled" };

/**
 * Drives a run from its position to its end, without I/O. Yields items in the order of `seq`. A chain continues after a
 * commit only when the caller requests the next item.
 * @throws RunError after `workflow_failed`; a ParallelError under the strategy `collect`.
 */
export async function* drive(
  context: ExecutionContext,
  { signal, resumedFrom, handlers = {} }: DriveOptions = {},
): AsyncGenerator<EngineEvent, RunResult, Answered | undefined> {
  const { run } = context;
  const interpreter = new Interpreter(context, handlers, { runChain, drive });
  const cancel = (): void => interpreter.halt("cancelled");
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  const { name, version } = run.workflow.document;
  const params = truncated(copyOf(run.state.params));
  const resumed = resumedFrom === undefined ? {} : { resumedFrom };
  run.publish("workflow_start", null, { name, version, params, ...resumed });
  const ended = end(interpreter, signal);
  ended.catch(() => undefined);
  try {
    yield* run.scheduler.items();
    return await ended;
  } finally {
    signal?.removeEventListener("abort", cancel);
    run.scheduler.close();
  }
}

async function end(interpreter: Interpreter, signal?: AbortSignal): Promise<RunResult> {
  const { run } = interpreter;
  const { scheduler, state } = run;
  try {
    const { position } = state;
    const top = chainAt({ path: [], locals: {}, signal: scheduler.signal, position });
    const ran = state.stopped ? null : interpreter.runChain(top);
    const halt = await Promise.race([ran, interpreter.halted.promise]);
    scheduler.cancel();
    if (halt === "cancelled" && !state.stopped) {
      run.publish("workflow_cancelled", null, { duration_ms: run.end("cancelled") });
      return { status: "cancelled" };
    }
    await removeTemporary(run, signal);
    const { stopped } = state;
    const duration_ms = run.end(stopped ? "stopped" : "completed");
    run.publish("workflow_done", null, { duration_ms, ...(stopped && { stop_id: stopped.id }) });
    if (!stopped) return { status: "completed" };
    return { status: "stopped", stopID: stopped.id, reason: stopped.reason };
  } catch (thrown) {
    scheduler.cancel();
    const { stepID, error } = thrown instanceof Failure ? thrown : { stepID: null, error: thrown };
    const duration_ms = run.end("failed");
    if (stepID !== null) run.currentStepID = stepID;
    const payload = { error: messageOf(error), failed_step_id: stepID, duration_ms };
    run.publish("workflow_failed", null, payload);
    if (!(error instanceof ParallelError)) throw new RunError(stepID, error);
    error.stepID = stepID;
    throw error;
  } finally {
    scheduler.close();
  }
}

/** @throws Failure for a failed step; the signal's reason for an aborted chain. */
async function runChain(interpreter: Interpreter, chain: Chain): Promise<ChainEnd> {
  const { steps } = interpreter.run.workflow.outline;
  let skipped = 0;
  for (;;) {
    const { next } = chain.position;
    if (isEnd(next)) {
      await commitEnd(interpreter, chain, next);
      interpreter.run.unclaimed.add(chain.unclaimed.claim());
      return next;
    }
    if (next === ENTRY) {
      await runEntries(interpreter, chain);
      moveOn(chain.position, RETURN);
      continue;
    }
    const step = steps.get(next);
    if (!step) throw new Failure(next, noNextStep(next));
    const done = await runStep(interpreter, chain, step);
    skipped = done.isSkipped ? skipped + 1 : 0;
    if (skipped > steps.size) throw new Failure(next, idleCycle(next));
    moveOn(chain.position, done.next);
  }
}

// The last step was skipped, so it has no commit that records the end of this chain of a fork or loop.
async function commitEnd(interpreter: Interpreter, chain: Chain, next: ChainEnd): Promise<void> {
  const part = chain.path.at(-1);
  if (!part || chain.committed === next) return;
  const { steps } = interpreter.run.workflow.outline;
  const construct = steps.get(part.in);
  const isArm = "child" in part && !construct?.children?.includes(part.child);
  if (construct && getStepType(construct) === "Branch" && isArm) return;
  // The implicit fork of several entries has no step, so its mark has the name of the chain.
  const id = part.in === ENTRY && "child" in part ? part.child : part.in;
  const type = typeName(steps.get(id) ?? { id });
  const none = { outputs: null, variables: [], artifacts: [] };
  const reached: Reached = { type, ...none, next, phase: "mark", durationMs: 0 };
  await interpreter.run.scheduler.run(() =>
    interpreter.commit(id, reached, chain, interpreter.open({ id }, chain)),
  );
}

/** Runs a chain's current step: commits it, skips it or handles its failure. */
function runStep(
  interpreter: Interpreter,
  chain: Chain,
  step: StepDocument,
): Promise<{ next: string; isSkipped: boolean }> {
  const { run } = interpreter;
  return run.scheduler.run(async (turn) => {
    const task = taskOf(interpreter, chain, step, turn);
    try {
      chain.signal.throwIfAborted();
      if (!task.inside && isLeftOut(task)) return { next: nextOf(step), isSkipped: true };
      run.currentStepID = step.id;
      await start(task);
      return { next: await carryOut(task), isSkipped: false };
    } catch (error) {
      return { next: failed(task, error), isSkipped: false };
    } finally {
      task.context.isOver = true;
    }
  });
}

async function start(task: Task): Promise<void> {
  const { context, interpreter, step, type } = task;
  const { run } = interpreter;
  const payload = {
    type: typeName(step),
    meta: copyOf(step.meta ?? null),
    resolvedInputs: resolvedInputs(task),
  };
  const event = run.eventOf("step_start", step.id, payload, context.origin);
  const published = run.scheduler.commit({ kind: "event", event });
  // An adapter may publish events, and this event must precede them.
  if (type === null || callTypes.has(type)) await published;
}

function isLeftOut({ attempt, context, step }: Task): boolean {
  if (step.if === undefined || context.condition(step.if)) return false;
  context.emit("step_skipped", step.id, { condition: step.if });
  attempt.end("skipped");
  return true;
}

async function carryOut(task: Task): Promise<string> {
  const { step, inside, type } = task;
  const done: Done = inside?.body ?? (await task.attempt.run(() => work(task)));
  const children = type === "Loop" ? [] : (step.children ?? []);
  if (children.length === 0) return await finish(task, done);
  // A step with children commits its own work before they run.
  if (!inside?.body && type !== "Noop") {
    const reached = reachedOf(task, done, "body", step.id);
    const body = done.next === undefined ? reached : { ...reached, leadsTo: done.next };
    await task.interpreter.commit(step.id, body, task.chain, task.attempt);
    renew(task);
  }
  const isBroken = await task.attempt.run(() => runFork(task));
  const { called: _, ...rest } = done;
  return await finish(task, isBroken ? { ...rest, next: BREAK } : rest);
}

async function finish(task: Task, done: Done): Promise<string> {
  const { interpreter, chain, step } = task;
  const next = done.next ?? nextOf(step);
  if (constructs.has(task.type)) print(task);
  const reached = reachedOf(task, done, "done", next);
  const payload = {
    outputs: reached.outputs,
    ...(done.selected !== undefined && { selected: done.selected }),
  };
  await interpreter.commit(step.id, reached, chain, task.attempt, payload);
  if (done.stop) {
    interpreter.run.state.stopped = { id: step.id, ...done.stop };
    endBranches(chain);
    interpreter.halt("stopped");
    chain.signal.throwIfAborted();
  }
  return next;
}

// A Stop's commit also ends the Branches whose cases are on its path, because they have no other commit. The commit
// does not end a Branch with children, because the children never ran.
function endBranches({ branch, path }: Chain): void {
  const part = path.at(-1);
  if (!branch || !part || !("child" in part)) return;
  const { attempt, chain, interpreter, step } = branch;
  if (!step.children?.length) {
    const payload = { outputs: null, selected: part.child };
    interpreter.run.publish("step_done", step.id, payload, originOf(attempt));
    attempt.end("committed");
  }
  endBranches(chain);
}

function reachedOf(
  task: Task,
  { called: call, iterations, selected, stop: ended }: Done,
  phase: Commit["phase"],
  next: string,
): Reached {
  const { variables, artifacts, failures } = task.context.written.claim();
  return {
    type: typeName(task.step),
    ...(selected !== undefined && { selected }),
    ...(iterations !== undefined && { iterations }),
    ...(ended && { stop: ended }),
    outputs: outputsOf(task),
    variables,
    artifacts,
    ...(failures.length > 0 && { failures }),
    next,
    phase,
    durationMs: Date.now() - task.startedAt,
    ...(call?.model !== undefined && { model: call.model }),
    ...(call?.usage && { usage: call.usage }),
    ...(call?.cost !== undefined && { cost: call.cost }),
  };
}

/** Returns the id of the step that handles a failure. Throws a Failure if no step does. */
function failed(task: Task, error: unknown): string {
  const { attempt, chain, context, interpreter, step } = task;
  const isOver = error instanceof Failure || chain.signal.aborted;
  if (!isOver) recordFailure(task, error);
  if (isOver || step.onError === undefined) interpreter.run.unclaimed.add(context.written);
  else chain.unclaimed.add(context.written);
  if (isOver) {
    attempt.end("cancelled");
    throw error;
  }
  context.emit("step_error", step.id, { error: messageOf(error) });
  attempt.end("failed", error);
  if (step.onError === undefined) throw new Failure(step.id, error);
  chain.handled = buildErrorMap(error, step.id);
  return step.onError;
}

const nextOf = (step: StepDocument): string => step.next ?? RETURN;

// Constructs do not map outputs, and print when they end.
const constructs = new Set<Task["type"]>(["Noop", "Branch", "Loop", "Pause", "Stop"]);

async function work(task: Task): Promise<Done> {
  failAsRecorded(task);
  switch (task.type) {
    case "Noop":
      return {};
    case "Branch":
      return await chooseCase(task);
    case "Loop":
      return await runLoop(task);
    case "Pause":
      return await runPause(task);
    case "Stop":
      return stop(task);
    case "Set":
    case "Write":
      await writeTarget(task);
      return await mapped(task, { locals: { _result: null } });
    default: {
      const isCalled = runsWorkflow(task.step) || !writeRecorded(task);
      return await mapped(task, isCalled ? await called(task) : { locals: { _result: null } });
    }
  }
}

async function called(task: Task): Promise<Called> {
  if (runsWorkflow(task.step)) return await runSubflow(task, callOf(task));
  const { step, context, interpreter, signal, type } = task;
  const isOwn = type === null || type === "Tool";
  const handler = isOwn ? ownValue(interpreter.handlers, typeName(step)) : undefined;
  if (handler) {
    // A handler that never settles must not block the end of the run.
    const handled = untilAborted(signal, () => handler(context, structuredClone(step)));
    return { locals: { _result: await handled } };
  }
  const execute = type !== null && callTypes.has(type) ? executors[type] : undefined;
  if (!execute) throw noHandler(step.id, typeName(step));
  announceFiles(task);
  return await execute(callOf(task));
}

function callOf(task: Task): Call {
  const { step, context, interpreter, signal } = task;
  const { setup, state, workflow } = interpreter.run;
  const at = stepAt(task);
  return {
    step,
    inputs: context.resolve(step.in ?? step.input ?? {}) as Record<string, unknown>,
    value: (field) => context.evaluate(field),
    adapters: setup.adapters,
    registry: workflow.document.registry,
    env: setup.env ?? {},
    runID: state.runID,
    stepID: at.stepID,
    key: setup.keyOf?.(at),
    signal,
    shown: setup.wholeValues ? whole : shown,
    emit: (type, payload) => {
      if (!signal.aborted) context.emit(type, step.id, payload);
    },
    writeFile: (path, data, mode) => writeFile(task, path, data, mode),
  };
}

async function mapped(task: Task, call: Called): Promise<Done> {
  task.signal.throwIfAborted();
  await mapOutputs(task, call.locals);
  return { called: call };
}
