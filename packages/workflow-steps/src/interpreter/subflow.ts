import { WorkflowError } from "@uncaged/workflow";
import type { ToolRuntime } from "../adapter/adapter.ts";
import { messageOf } from "../adapter/error.ts";
import { validate } from "../check/check.ts";
import type { WorkflowDocument } from "../document/document.ts";
import { isPlain } from "../expression/value.ts";
import { pathInput, runsWorkflow } from "../outline/subflow.ts";
import { noChanges } from "../state/marks.ts";
import type { ChildRun } from "../state/commit.ts";
import { newState } from "../state/state.ts";
import { readWorkflow, type Workflow } from "../state/workflow.ts";
import { untilAborted } from "../step/adapter-call.ts";
import type { Call, Called } from "../step/call.ts";
import { shown } from "../step/summary.ts";
import { callTool } from "../step/tool.ts";
import { type Child, runChild } from "./child.ts";
import { outside } from "./gate.ts";
import { type Task, typeName } from "./task.ts";

const mostDepth = 8;
const toolName = "WorkflowRun";

/** Whether a step runs another workflow. */
export const isSubflow = ({ step }: Task): boolean => runsWorkflow(step);

/** Runs another workflow as a tool: with the events, the envelope and the failures of one. */
export function runSubflow(task: Task, call: Call): Promise<Called> {
  const execute = (_name: string, input: unknown, runtime: ToolRuntime): Promise<unknown> =>
    runWorkflow(task, isPlain(input) ? input : {}, runtime);
  const step = { ...call.step, tool: toolName };
  const adapters = { ...call.adapters, tool: { execute } };
  // Its result is what the child's own steps have committed, with all their events; an event of the
  // child has its own values cut where it is told.
  return callTool({ ...call, step, shown, shownData: (event) => event, adapters });
}

async function runWorkflow(
  task: Task,
  input: Record<string, unknown>,
  runtime: ToolRuntime,
): Promise<unknown> {
  const { mode = "sync" } = input;
  if (mode === "validate") return { result: problemsOf((await documentOf(task, input)).document) };
  if (mode !== "sync") throw badMode(task.step.id, mode);
  const { gate } = task.interpreter;
  const child = openChild(task) ?? (await begin(task, input));
  return await outside(gate, () => runChild(task, child, runtime));
}

// It was begun before the run was taken up: it goes on with what it began with.
function openChild({ inside, interpreter }: Task): Child | null {
  if (!inside?.run || !inside.child) return null;
  const { workflow: path, document } = inside.child;
  const { subflows } = interpreter.run.setup;
  return {
    workflow: readWorkflow(document ?? (subflows[path] as WorkflowDocument)),
    state: inside.run,
  };
}

async function begin(task: Task, input: Record<string, unknown>): Promise<Child> {
  const { chain, interpreter, step } = task;
  const { setup, state } = interpreter.run;
  if (setup.depth >= mostDepth) throw tooDeep(step.id);
  const { path, document, isBuiltIn } = await documentOf(task, input);
  const workflow = validWorkflow(step.id, path, document, Object.keys(setup.handlers));
  const params = workflow.registry.startParams(input.params ?? {});
  const runID = `${state.runID}-${state.eventSeq}`;
  const child: ChildRun = { runID, params, workflow: path, ...(!isBuiltIn && { document }) };
  const begun = {
    type: typeName(step),
    outputs: null,
    variables: [],
    artifacts: [],
    next: step.id,
    phase: "body" as const,
    durationMs: 0,
    child,
  };
  await interpreter.commit(step.id, begun, chain, noChanges(), null);
  return { workflow, state: newState(workflow, runID, params) };
}

async function documentOf(
  { interpreter, signal, step }: Task,
  input: Record<string, unknown>,
): Promise<{ path: string; document: WorkflowDocument; isBuiltIn: boolean }> {
  const { adapters, subflows } = interpreter.run.setup;
  const path = input[pathInput];
  if (typeof path !== "string" || path === "") throw noPath(step.id);
  const builtIn = Object.hasOwn(subflows, path) ? subflows[path] : undefined;
  if (builtIn) return { path, document: builtIn, isBuiltIn: true };
  const { file } = adapters;
  if (!file) throw unreadable(step.id, path, 'there is no adapter "file"');
  try {
    const read = await untilAborted(signal, () => file.read(path.replace(/^\/+/, "")));
    const text = typeof read === "string" ? read : new TextDecoder().decode(read);
    return { path, document: JSON.parse(text) as WorkflowDocument, isBuiltIn: false };
  } catch (error) {
    signal.throwIfAborted();
    throw unreadable(step.id, path, messageOf(error));
  }
}

function validWorkflow(
  id: string,
  path: string,
  document: WorkflowDocument,
  customTypes: string[],
): Workflow {
  const { errors } = problemsOf(document, customTypes);
  if (errors.length === 0) return readWorkflow(document);
  throw new WorkflowError({
    code: "WORKFLOW_INVALID",
    kind: "failed",
    message: `${id}: ${path} is no valid workflow: ${errors[0]}`,
    hint: "mend that workflow",
    details: errors,
  });
}

function problemsOf(
  document: unknown,
  customTypes: string[] = [],
): { valid: boolean; errors: string[] } {
  const faults = validate(document, { customTypes }).filter(({ severity }) => severity === "error");
  return { valid: faults.length === 0, errors: faults.map(({ message }) => message) };
}

const noPath = (id: string): WorkflowError =>
  refusal("NO_WORKFLOW_PATH", `${id}: its ${pathInput} is no path`, "give the path of a JSON file");

const badMode = (id: string, mode: unknown): WorkflowError =>
  refusal(
    "BAD_MODE",
    `${id}: the mode ${JSON.stringify(mode)} can't be used here`,
    "use sync or validate",
  );

const tooDeep = (id: string): WorkflowError =>
  refusal(
    "SUBFLOW_TOO_DEEP",
    `${id}: workflows may run each other ${mostDepth} deep, and this would be deeper`,
    "see that no workflow comes to run itself",
  );

const unreadable = (id: string, path: string, why: string): WorkflowError =>
  refusal(
    "WORKFLOW_UNREADABLE",
    `${id}: the workflow ${path} can't be read: ${why}`,
    "check the path; it counts from the folder of the run",
  );

const refusal = (code: string, message: string, hint: string): WorkflowError =>
  new WorkflowError({ code, kind: "failed", message, hint });
