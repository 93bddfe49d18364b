import {
  answersFromFixture,
  type Attempts,
  noAnswer,
  opensAttempts,
  stepKey,
} from "@uncaged/workflow/interpreter";
import {
  type Bundle,
  eventsChannel,
  type RoleOutput,
  type ThreadInput,
  type WorkflowEvent,
  type WorkflowFn,
  type WorkflowOptions,
  type WorkflowResult,
} from "@uncaged/workflow";
import { channel } from "node:diagnostics_channel";
import type { Adapters } from "../adapter/adapter.ts";
import { ExecutionContext, type Handler } from "../context/context.ts";
import { type EngineEvent, Run, type RunOptions } from "../context/run.ts";
import type { ParallelErrorStrategy } from "../document/document.ts";
import type { WorkflowDocument } from "../document/format.ts";
import type { RunEvent } from "../document/event.ts";
import { drive, type RunResult } from "../interpreter/drive.ts";
import type { DriveOptions } from "../interpreter/interpreter.ts";
import { copyTemporary, isEvent } from "../interpreter/output.ts";
import { invalidWorkflow } from "../interpreter/errors.ts";
import { errorsIn } from "../interpreter/subflow.ts";
import { currentOf } from "../state/position.ts";
import { type Resumable, restoredState } from "../state/checkpoint.ts";
import {
  type Answered,
  type Documents,
  newState,
  readWorkflow,
  type Workflow,
} from "../state/state.ts";
import { describeSteps } from "./describe.ts";
import { nameOf, RecordedSteps, StepCounts, withoutFiles } from "./answers.ts";
import { answerIn, commitOutput, foldSteps, pauseOutput } from "./thread.ts";

/** Options for the threads of a step workflow's bundle. */
export type BundleOptions = {
  /** The adapters, or a function that creates them from a thread's options and initial steps. */
  adapters?: Adapters | ((options: WorkflowOptions, steps: ThreadInput["steps"]) => Adapters);
  /** Handlers by the prefix of the step ids. */
  customHandlers?: Readonly<Record<string, Handler>>;
  /** Documents of child workflows, by the path that a step names. */
  subflows?: Readonly<Record<string, WorkflowDocument>>;
  /** The default strategy for constructs without an `errorStrategy`. Defaults to `fail_fast`. */
  errorStrategy?: ParallelErrorStrategy;
  /** The maximum number of concurrent chains in one construct. Defaults to the thread's option of the same name. */
  maxConcurrency?: number;
  /** Skips the check of a document that was already checked at build time. */
  isChecked?: boolean;
};

/**
 * Makes a bundle of a step workflow. Each committed step is a step of the thread, a Pause is a question, and other
 * events go to the workflow's channel.
 *
 *     export const { run, descriptor } = stepsBundle(workflow, { adapters: { llm } });
 *
 * @throws WorkflowError `WORKFLOW_INVALID`, with all violations in `details`.
 */
export function stepsBundle(document: WorkflowDocument, options: BundleOptions = {}): Bundle {
  const { customHandlers = {}, isChecked = false, subflows = {} } = options;
  const errors = isChecked ? [] : errorsIn(document, Object.keys(customHandlers));
  if (errors.length > 0) throw invalidWorkflow(errors, "fix the workflow");
  const workflow = readWorkflow({ document, subflows });
  const run: WorkflowFn = async function* (input, given) {
    return yield* runThread(workflow, input, given, options);
  };
  return {
    descriptor: describeSteps({ document, subflows }),
    run: Object.assign(run, { [opensAttempts]: true, [answersFromFixture]: true }),
  };
}

const inAttempt = (output: RoleOutput, { attempt }: { attempt?: string }): RoleOutput =>
  attempt === undefined ? output : { ...output, attempt };

async function* runThread(
  workflow: Workflow,
  input: ThreadInput,
  options: WorkflowOptions,
  setup: BundleOptions,
): AsyncGenerator<RoleOutput, WorkflowResult, RoleOutput | undefined> {
  const { attempts, clientRunToken, env, forkFrom, signal, threadId } = options;
  const { adapters = {}, customHandlers: handlers, errorStrategy } = setup;
  const { outline } = workflow;
  const state = foldSteps(workflow, { ...input, threadId });
  const resumedFrom = input.steps.length > 0 ? currentOf(outline, state.position) : undefined;
  const keys = new StepCounts(input.steps, nameOf);
  const recorded = RecordedSteps.of(options, input.steps);
  const given = typeof adapters === "function" ? adapters(options, input.steps) : adapters;
  const run = new Run(workflow, state, {
    keyOf: (at) => stepKey(options, ...keys.next(at)),
    recorded: recorded ?? undefined,
    adapters: recorded ? withoutFiles(given) : given,
    env,
    errorStrategy,
    maxConcurrency: setup.maxConcurrency ?? limitIn(options),
    clientRunToken: typeof clientRunToken === "string" ? clientRunToken : undefined,
    attempts,
    wholeValues: true,
  });
  const { file } = run.setup.adapters;
  if (forkFrom && file && !recorded) await copyTemporary(file, forkFrom.threadId, threadId);
  const events = drive(new ExecutionContext(run), { signal, resumedFrom, handlers });
  let answer: Answered | undefined;
  try {
    for (;;) {
      const { done, value } = await events.next(answer);
      answer = undefined;
      // After a missing recorded answer, commit nothing, not even the step that handles the failure.
      if (done || value.kind !== "event") recorded?.check();
      if (done) return resultOf(workflow.document, value);
      if (value.kind === "commit") {
        yield inAttempt(commitOutput(value.role, value.commit), value);
        keys.add(value.role, value.commit);
        recorded?.committed(value.role, value.commit);
      }
      // The thread's log already records the end of a killed or interrupted thread.
      if (value.event && value.event.type !== "workflow_cancelled") publish(value.event);
      recorded?.check();
      if (value.kind === "wait") {
        answer = answerIn(sent(yield inAttempt(pauseOutput(value.wait), value)));
      }
    }
  } finally {
    // Closing this generator at a yield does not close `events`.
    await events.return({ status: "cancelled" });
  }
}

// The caller sets the limit, because a document can't.
const limitIn = ({ maxConcurrency }: WorkflowOptions): number =>
  Number.isSafeInteger(maxConcurrency) && Number(maxConcurrency) > 0 ? Number(maxConcurrency) : 0;

function resultOf(document: WorkflowDocument, result: RunResult): WorkflowResult {
  if (result.status === "cancelled") return { returnCode: 143, summary: "cancelled" };
  if (result.status === "completed") return { returnCode: 0, summary: document.name };
  const title = document.steps.find(({ id }) => id === result.stopID)?.meta?.title;
  const summary = result.reason ?? (typeof title === "string" ? title : document.name);
  return { returnCode: 0, summary };
}

function sent(input: RoleOutput | undefined): RoleOutput {
  if (input) return input;
  throw noAnswer("the workflow waits at a Pause");
}

/** Publishes an event on the workflow's channel. The source is the step, even for steps of a child workflow. */
function publish(event: RunEvent): void {
  const { type, stepID, payload, attempt } = event;
  const { data } = payload;
  if (type === "tool_message" && isEvent(data) && data.attempt !== undefined) {
    return publish({ ...data, stepID: `${stepID}/${data.stepID}` });
  }
  const published: WorkflowEvent = { type, stepID, payload };
  if (attempt !== undefined) published.attempt = attempt;
  channel(eventsChannel).publish(published);
}

/** The start of a run: params, or a checkpoint. */
export type StartingState = { params?: Record<string, unknown> } | Resumable;

/** Options of {@link interpret}; all are optional. */
export type InterpretOptions = RunOptions &
  Pick<DriveOptions, "signal" | "handlers"> &
  Partial<Pick<Documents, "subflows">> & {
    /** Defaults to the checkpoint's run id, otherwise to `wf`. */
    runID?: string;
    /** Records the step attempts. Commits and events carry their attempt's id. */
    attempts?: Attempts;
  };

/**
 * Runs a workflow as an async generator of engine events, for a custom driver. The document must be valid.
 *
 *     const run = interpret(document, { params: { goal: "a plan" } }, { llm });
 *     for await (const event of run) {
 *       if (event.kind === "commit") await keep(event.role, event.commit);
 *     }
 *
 * Make each commit durable before you call `next()` again. The event of a commit follows the commit. Pass the answer to
 * a `wait` to `next()`.
 *
 * @throws WorkflowError `PARAMS_INVALID`, `CHECKPOINT_INVALID`; the generator throws RunError and ParallelError.
 */
export function interpret(
  document: WorkflowDocument,
  state: StartingState,
  adapters: Adapters = {},
  options: InterpretOptions = {},
): AsyncGenerator<EngineEvent, RunResult, Answered | undefined> {
  const { runID = "wf", signal, handlers, subflows = {}, ...setup } = options;
  const workflow = readWorkflow({ document, subflows });
  const resumedFrom = "currentStepID" in state ? state.currentStepID : undefined;
  const begun =
    "currentStepID" in state
      ? restoredState(workflow, state, runID, {})
      : newState(workflow, runID, workflow.registry.startParams(state.params));
  const run = new Run(workflow, begun, { adapters, ...setup });
  return drive(new ExecutionContext(run), { signal, resumedFrom, handlers });
}
