import { callTypes, failure } from "../document/document.ts";
import { type Call, type Called, shown, whole } from "../step/call.ts";
import { executors } from "../step/tool.ts";
import { chooseCase, runLoop } from "./construct.ts";
import { type Done, type Task, typeName } from "./interpreter.ts";
import { announceFiles, mapOutputs, print, writeFile, writeTarget } from "./output.ts";
import { runPause, stop } from "./pause.ts";
import { isSubflow, runSubflow } from "./subflow.ts";

/** Whether a step does something of its own before its children: then that is committed first. */
export const hasBody = ({ type }: Task): boolean => type !== "Noop";

// These map no outputs: they print when all of them is done.
const constructs = new Set<Task["type"]>(["Noop", "Branch", "Loop", "Pause", "Stop"]);

/** Prints what a step prints that has mapped no outputs. */
export function printConstruct(task: Task): void {
  if (constructs.has(task.type)) print(task);
}

/** A step's own work, without its children. */
export async function work(task: Task): Promise<Done> {
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
    default:
      return await mapped(task, await called(task));
  }
}

async function called(task: Task): Promise<Called> {
  if (isSubflow(task)) return await runSubflow(task, callOf(task));
  const { step, context, interpreter, type } = task;
  if (type === null) {
    const handler = interpreter.handlers[typeName(task.step)];
    if (!handler) throw noHandler(step.id, typeName(task.step));
    return {
      locals: { _result: await orAborted(handler(context, structuredClone(step)), task.signal) },
    };
  }
  const execute = callTypes.has(type) ? executors[type] : undefined;
  if (!execute) throw noHandler(step.id, type);
  announceFiles(task);
  return await execute(callOf(task));
}

function callOf(task: Task): Call {
  const { step, context, interpreter, signal } = task;
  const { setup, state, workflow } = interpreter.run;
  return {
    step,
    inputs: context.resolve(step.in ?? step.input ?? {}) as Record<string, unknown>,
    value: (field) => context.evaluate(field),
    adapters: setup.adapters,
    registry: workflow.document.registry,
    env: setup.env,
    runID: state.runID,
    stepID: `${setup.prefix}${step.id}`,
    signal,
    shown: setup.wholeValues ? whole : shown,
    emit: (type, payload) => {
      if (!signal.aborted) context.emit(type, step.id, payload);
    },
    writeFile: (path, data, mode) => writeFile(task, path, data, mode),
  };
}

async function mapped(task: Task, result: Called): Promise<Done> {
  task.signal.throwIfAborted();
  await mapOutputs(task, result.locals);
  return { called: result };
}

// A handler that never answers must not keep the run from ending.
function orAborted(handled: unknown, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    Promise.resolve(handled)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}

const noHandler = (id: string, type: string) =>
  failure(
    "NO_HANDLER",
    `nothing carries out ${id}: there is no handler for ${type}`,
    `give customHandlers.${type}, or use a type of the format`,
  );
