import type { ToolRuntime } from "../adapter/adapter.ts";
import { messageOf } from "../adapter/error.ts";
import { ExecutionContext, type RunControl } from "../context/context.ts";
import type { Answered, Happening, PauseRequest } from "../context/feed.ts";
import { Run } from "../context/run.ts";
import type { RunEvent } from "../event/event.ts";
import { type Checkpoint, checkpointOf } from "../state/checkpoint.ts";
import type { PathPart } from "../state/commit.ts";
import { Fold } from "../state/fold.ts";
import { copyState, type RunState } from "../state/state.ts";
import { readWorkflow, type Workflow } from "../state/workflow.ts";
import type { Drive } from "./interpreter.ts";
import { ChildGate } from "./gate.ts";
import { waiting } from "./pause.ts";
import { shownEvent } from "./shown.ts";
import type { Task } from "./task.ts";

/** A workflow that a step runs, and where it stands. */
export type Child = { workflow: Workflow; state: RunState };

const tokens = new Set(["llm_token", "llm_thinking"]);

/**
 * Runs a child workflow to its end. Its steps are committed as the parent's, its events reach the
 * parent as what a tool tells, and a Pause of it holds the parent.
 */
export async function runChild(task: Task, child: Child, runtime: ToolRuntime): Promise<unknown> {
  const { context, interpreter, signal } = task;
  const { setup } = interpreter.run;
  const { runID } = child.state;
  const find = ({ workflow, document }: { workflow: string; document?: Workflow["document"] }) =>
    readWorkflow(document ?? (setup.subflows[workflow] as Workflow["document"]));
  const fold = new Fold(copyState(child.state), find);
  const run = new Run(child.workflow, child.state, {
    ...setup,
    place: `${setup.place}${task.step.id}/`,
    depth: setup.depth + 1,
    workflowID: runID,
  });
  const control: RunControl = {
    checkpoint: () => checkpoint(run, fold),
    onEvent: (listener) => context.onEvent(listener),
    abort: () => context.abort(),
    resume: (request) => context.resume(request),
    done: () => context.done,
  };
  const events: RunEvent[] = [];
  const kept = setup.tellsWhole ? shownEvent : (event: RunEvent): RunEvent => event;
  const gate = new ChildGate(interpreter.gate);
  const happenings = interpreter.drive(new ExecutionContext(run, control), { signal, gate });
  const failure = await drive(task, happenings, (happening) => {
    if (happening.kind === "commit") fold.apply(happening.role, happening.commit);
    if (happening.event === null) return;
    if (!tokens.has(happening.event.type)) events.push(kept(happening.event));
    runtime.emit(happening.event.type, happening.event);
  }).finally(() => gate.end());
  signal.throwIfAborted();
  const { status, state } = run;
  return {
    ...(failure !== null && { error: failure }),
    status,
    runID,
    filesWritten: Object.keys(state.artifacts),
    variables: structuredClone(state.variables),
    checkpoint: checkpoint(run, fold),
    completedSteps: [...state.completedSteps],
    events,
  };
}

/** Takes what happens in the child to the parent; gives why the child failed, if it did. */
async function drive(
  task: Task,
  happenings: ReturnType<Drive>,
  hear: (happening: Happening) => void,
): Promise<string | null> {
  try {
    let answer: Answered | undefined;
    for (;;) {
      const { done, value } = await happenings.next(answer);
      if (done) return null;
      answer = undefined;
      if (value.kind === "commit") await commit(task, value);
      hear(value);
      if (value.kind === "wait") answer = await ask(task, value.wait, value.event);
    }
  } catch (error) {
    task.signal.throwIfAborted();
    return messageOf(error);
  }
}

async function commit(
  { chain, interpreter, signal, step }: Task,
  { role, commit: own }: Extract<Happening, { kind: "commit" }>,
): Promise<void> {
  const path = within(chain.path, step.id, own.runID, own.path);
  await interpreter.run.feed.commit(`${step.id}/${role}`, { ...own, path }, null);
  signal.throwIfAborted();
}

function ask(
  { chain, interpreter, step }: Task,
  wait: PauseRequest,
  event: RunEvent,
): Promise<Answered> {
  const { run } = interpreter;
  const stepID = `${step.id}/${wait.stepID}`;
  const path = within(chain.path, step.id, event.runID, wait.path);
  const payload = { ...event.payload, nodeId: stepID };
  const asked = { ...wait, stepID, path };
  const told = run.eventOf("pause_start", stepID, payload);
  return waiting(run, asked, () => run.feed.ask(asked, told));
}

// A run that is a child's child already stands in the path: only the nearest is this one's.
function within(
  outer: readonly PathPart[],
  id: string,
  runID: string,
  inner: readonly PathPart[],
): PathPart[] {
  return [...outer, { in: id, run: runID }, ...inner];
}

function checkpoint(run: Run, fold: Fold): Checkpoint {
  return checkpointOf(fold.state, {
    workflow: run.workflow,
    workflowID: run.setup.workflowID,
    status: run.status,
    now: run.setup.now(),
  });
}
