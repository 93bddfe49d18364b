import { type PathPart, roundedIn } from "@uncaged/workflow/interpreter";
import type { ToolRuntime } from "../adapter/adapter.ts";
import { messageOf } from "../adapter/error.ts";
import { validate } from "../check/check.ts";
import { ExecutionContext } from "../context/context.ts";
import { type EngineEvent, Run } from "../context/run.ts";
import type { WorkflowDocument } from "../document/format.ts";
import type { RunEvent } from "../document/event.ts";
import { isPlain } from "../expression/value.ts";
import { pathInput } from "../document/outline.ts";
import type { Checkpoint } from "../state/checkpoint.ts";
import { Fold } from "../state/fold.ts";
import {
  type Answered,
  childWorkflow,
  copyState,
  newState,
  readWorkflow,
  type RunState,
  type Workflow,
} from "../state/state.ts";
import { type Call, type Called, shown, untilAborted } from "../step/call.ts";
import { callTool } from "../step/tool.ts";
import { type Reached, type Task, typeName } from "./interpreter.ts";
import { shownEvent } from "./output.ts";
import { waiting } from "./pause.ts";
import {
  badMode,
  childTimeout,
  childTooDeep,
  invalidChild,
  noWorkflowPath,
  unreadableWorkflow,
} from "./errors.ts";

const mostDepth = 8;

/** Runs another workflow as a tool, with a tool's events, result and failures. */
export function runSubflow(task: Task, call: Call): Promise<Called> {
  const execute = (_name: string, input: unknown, runtime: ToolRuntime): Promise<unknown> =>
    runWorkflow(task, isPlain(input) ? input : {}, runtime);
  const step = { ...call.step, tool: "WorkflowRun" };
  const adapters = { ...call.adapters, tool: { execute } };
  // Publishing a child's event truncates its values, so keep whole values here.
  return callTool({ ...call, step, shown, shownData: (event) => event, adapters });
}

async function runWorkflow(
  task: Task,
  input: Record<string, unknown>,
  runtime: ToolRuntime,
): Promise<unknown> {
  const { mode = "sync" } = input;
  if (mode === "validate") {
    const errors = errorsIn((await documentOf(task, input)).document, []);
    return { result: { valid: errors.length === 0, errors } };
  }
  if (mode !== "sync") throw badMode(task.step.id, mode);
  const open = task.inside?.child;
  // A child that began before a resume continues with its recorded workflow and state.
  const child = open
    ? { workflow: childWorkflow(task.interpreter.run.workflow, open.begun), state: open.state }
    : await begin(task, input);
  const { timeout } = input;
  const limit = deadline(typeof timeout === "number" && timeout > 0 ? timeout : null);
  try {
    return await task.turn.aside(() => runChild(task, child, runtime, limit));
  } finally {
    limit.hold();
  }
}

type Deadline = { signal: AbortSignal; go: () => void; hold: () => void };

/** Ends a child's run after a number of milliseconds of work. Time spent waiting for answers does not count. */
function deadline(ms: number | null): Deadline {
  const late = new AbortController();
  let [left, startedAt] = [ms ?? 0, 0];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const go = (): void => {
    startedAt = Date.now();
    const end = (): void => late.abort(childTimeout(ms));
    if (ms !== null) timer = setTimeout(end, Math.min(left, 2 ** 31 - 1));
  };
  const hold = (): void => {
    clearTimeout(timer);
    left = Math.max(0, left - (Date.now() - startedAt));
  };
  return { signal: late.signal, go, hold };
}

async function begin(task: Task, input: Record<string, unknown>): Promise<Child> {
  const { chain, interpreter, step } = task;
  const { setup, state, workflow: parent } = interpreter.run;
  if (setup.depth >= mostDepth) throw childTooDeep(step.id, mostDepth);
  const { path, document, isBuiltIn } = await documentOf(task, input);
  const errors = errorsIn(document, Object.keys(interpreter.handlers));
  if (errors.length > 0) throw invalidChild(step.id, path, errors);
  const workflow = readWorkflow({ document, subflows: parent.subflows });
  const params = workflow.registry.startParams(input.params ?? {});
  const runID = `${state.runID}-${state.eventSeq}`;
  const begun: Reached = {
    type: typeName(step),
    outputs: null,
    variables: [],
    artifacts: [],
    next: step.id,
    phase: "body",
    durationMs: 0,
    child: { runID, params, workflow: path, ...(!isBuiltIn && { document }) },
  };
  await interpreter.commit(step.id, begun, chain, interpreter.open(step, chain));
  return { workflow, state: newState(workflow, runID, params) };
}

async function documentOf(
  { interpreter, signal, step }: Task,
  input: Record<string, unknown>,
): Promise<{ path: string; document: WorkflowDocument; isBuiltIn: boolean }> {
  const { setup, workflow } = interpreter.run;
  const { subflows } = workflow;
  const path = input[pathInput];
  if (typeof path !== "string" || path === "") throw noWorkflowPath(step.id, pathInput);
  const builtIn = Object.hasOwn(subflows, path) ? subflows[path] : undefined;
  if (builtIn) return { path, document: builtIn, isBuiltIn: true };
  const { file } = setup.adapters;
  if (!file) throw unreadableWorkflow(step.id, path, 'missing adapter "file"');
  try {
    const read = await untilAborted(signal, () => file.read(path.replace(/^\/+/, "")));
    const text = typeof read === "string" ? read : new TextDecoder().decode(read);
    const rounded = roundedIn(text);
    if (rounded) throw new Error(`the number ${rounded.text} can't be kept exactly`);
    return { path, document: JSON.parse(text) as WorkflowDocument, isBuiltIn: false };
  } catch (error) {
    signal.throwIfAborted();
    throw unreadableWorkflow(step.id, path, messageOf(error));
  }
}

/** Returns the messages of all errors in a document. */
export const errorsIn = (document: unknown, customTypes: string[]): string[] =>
  validate(document, { customTypes }).flatMap(({ severity, message }) =>
    severity === "error" ? message : [],
  );

type Child = { workflow: Workflow; state: RunState };

const tokens = new Set(["llm_token", "llm_thinking"]);

/** Runs a child workflow. Commits its steps as the parent's steps, and reports its events as tool messages. */
async function runChild(
  task: Task,
  child: Child,
  runtime: ToolRuntime,
  limit: Deadline,
): Promise<unknown> {
  const { interpreter, step } = task;
  const signal = AbortSignal.any([task.signal, limit.signal]);
  const { handlers } = interpreter;
  const { scheduler, setup } = interpreter.run;
  const { state, workflow } = child;
  const around = [...task.chain.path, { in: step.id, run: state.runID }];
  const fold = new Fold(workflow, copyState(state));
  const checkpoint = (): Checkpoint => run.checkpointOf(fold.state);
  const own = {
    control: { ...setup.control, checkpoint },
    prefix: `${setup.prefix}${step.id}/`,
    path: [...setup.path, ...around],
    depth: setup.depth + 1,
  };
  const run = new Run(workflow, state, { ...setup, ...own }, scheduler);
  const events: RunEvent[] = [];
  const kept = setup.wholeValues ? shownEvent : (event: RunEvent): RunEvent => event;
  const items = interpreter.drive(new ExecutionContext(run), { signal, handlers });
  let error: string | null = null;
  limit.go();
  try {
    let answer: Answered | undefined;
    for (;;) {
      const { done, value } = await items.next(answer);
      if (done) break;
      answer = undefined;
      if (value.kind === "commit") {
        await commit(task, value, around);
        fold.apply(value.role, value.commit);
      }
      if (value.event) {
        if (!tokens.has(value.event.type)) events.push(kept(value.event));
        runtime.emit(value.event.type, value.event);
      }
      if (value.kind !== "wait") continue;
      limit.hold();
      answer = await ask(task, value, around);
      limit.go();
    }
  } catch (thrown) {
    task.signal.throwIfAborted();
    error = messageOf(thrown);
    task.context.written.failures.push(...run.unclaimed.claim().failures);
  } finally {
    run.scheduler.close();
  }
  task.signal.throwIfAborted();
  if (limit.signal.aborted) error = messageOf(limit.signal.reason);
  return {
    ...(error !== null && { error }),
    status: run.status,
    runID: state.runID,
    filesWritten: Object.keys(state.artifacts),
    variables: structuredClone(state.variables),
    checkpoint: checkpoint(),
    completedSteps: [...state.completedSteps],
    events,
  };
}

type Item<Kind> = Extract<EngineEvent, { kind: Kind }>;

/** Commits a child's step as a step of the parent. `around` is the path of the child's run. */
async function commit(
  { interpreter, signal, step }: Task,
  item: Item<"commit">,
  around: PathPart[],
): Promise<void> {
  const { scheduler, state } = interpreter.run;
  for (const artifact of item.commit.artifacts) state.artifacts[artifact.path] = artifact;
  const own = { ...item.commit, path: [...around, ...item.commit.path] };
  const role = `${step.id}/${item.role}`;
  await scheduler.commit({ ...item, role, commit: own, event: null });
  signal.throwIfAborted();
}

function ask({ interpreter, step }: Task, item: Item<"wait">, around: PathPart[]) {
  const { run } = interpreter;
  const stepID = `${step.id}/${item.wait.stepID}`;
  const wait = { ...item.wait, stepID, path: [...around, ...item.wait.path] };
  const { attempt, path = [], payload } = item.event;
  const origin = { attempt, path };
  const event = run.eventOf("pause_start", stepID, { ...payload, nodeId: stepID }, origin);
  return waiting(run, wait, () => run.scheduler.ask({ ...item, wait, event }));
}
