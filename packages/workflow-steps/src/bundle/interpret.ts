import type { Attempts } from "@uncaged/workflow";
import type { Adapters } from "../adapter/adapter.ts";
import { ExecutionContext, type Handler } from "../context/context.ts";
import { type EngineEvent, Run } from "../context/run.ts";
import type { ParallelErrorStrategy } from "../document/document.ts";
import type { WorkflowDocument } from "../document/format.ts";
import { drive, type RunResult } from "../interpreter/drive.ts";
import { type Resumable, restoredState } from "../state/checkpoint.ts";
import {
  type Answered,
  newState,
  readWorkflow,
  type RunState,
  type Workflow,
} from "../state/state.ts";

/** Where a run begins: at its beginning with params, or with a checkpoint. */
export type StartingState = { params?: Record<string, unknown> } | Resumable;

/** How a run is interpreted; each may be left out. */
export type InterpretOptions = {
  /** `wf` when not given, or that of the checkpoint. */
  runID?: string;
  signal?: AbortSignal;
  /** Configuration such as `LLM_MODEL`; none when not given. */
  env?: Readonly<Record<string, string>>;
  /** By the prefix of the steps' ids. */
  handlers?: Readonly<Record<string, Handler>>;
  subflows?: Readonly<Record<string, WorkflowDocument>>;
  errorStrategy?: ParallelErrorStrategy;
  maxConcurrency?: number;
  clientRunToken?: string;
  /** What records the attempts at the steps: a commit and an event carry the id of theirs. */
  attempts?: Attempts;
};

/**
 * A run as an async generator of what happens in it: what the Engine and the bundles drive, for a
 * driver of one's own. The document must be valid.
 *
 *     const run = interpret(document, { params: { goal: "a plan" } }, { llm });
 *     for await (const event of run) {
 *       if (event.kind === "commit") await keep(event.role, event.commit);
 *     }
 *
 * A commit is durable when the next event is asked for; its event is to be published after it. The
 * answer to a `wait` is the value of `next()`.
 *
 * @throws WorkflowError `PARAMS_INVALID`, `CHECKPOINT_INVALID` at once; RunError and ParallelError from
 * the generator, after `workflow_failed`.
 */
export function interpret(
  document: WorkflowDocument,
  state: StartingState,
  adapters: Adapters = {},
  options: InterpretOptions = {},
): AsyncGenerator<EngineEvent, RunResult, Answered | undefined> {
  const { signal, handlers, subflows = {}, ...setup } = options;
  const workflow = readWorkflow({ document, subflows });
  const run = new Run(workflow, startedState(workflow, state, options.runID), {
    adapters,
    ...setup,
  });
  const resumedFrom = "currentStepID" in state ? state.currentStepID : undefined;
  return drive(new ExecutionContext(run), { signal, resumedFrom, handlers });
}

function startedState(workflow: Workflow, state: StartingState, runID = "wf"): RunState {
  if ("currentStepID" in state) {
    return restoredState(workflow, state, { runIDFor: (known) => known ?? runID });
  }
  return newState(workflow, runID, workflow.registry.startParams(state.params));
}
