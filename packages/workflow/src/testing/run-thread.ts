import { checkResult, checkStep } from "../contract/check.ts";
import {
  type Descriptor,
  INPUT,
  type RoleOutput,
  type Step,
  WAIT,
  type WaitMeta,
  type WorkflowFn,
  type WorkflowResult,
} from "../contract/contract.ts";
import { isWorkflowError, messageOf } from "../contract/error.ts";
import { sleepsUntil } from "../contract/wait.ts";
import { checkDescriptor } from "../bundle/descriptor.ts";
import { checkStartParams } from "../bundle/params.ts";
import { RoleSchemas } from "../bundle/role-schemas.ts";
import { compileForAnswer } from "../bundle/schema.ts";
import { inputOf, type TestAnswer } from "../control/test-answer.ts";
import { answerStep, schemaProblem, timeoutStep } from "../engine/answer.ts";
import { DescriptorCheck } from "../engine/descriptor-check.ts";
import { type DurableProgram, durable } from "../durable/durable.ts";
import { withRecorded } from "../durable/recorded.ts";
import { withoutDelays } from "../durable/tries.ts";
import { stepRefused } from "../engine/errors.ts";
import { badReturnValue, badStep, badTestAnswer } from "./errors.ts";

/** Options of a thread in memory. */
export type RunThreadOptions = {
  prompt?: string;
  /** The value of `run --params`: any JSON value. */
  params?: unknown;
  /** Steps that are already in the log, as after a resume or a fork. */
  steps?: readonly (RoleOutput & { timestamp?: number })[];
  /** Maximum number of steps of the thread; by default the descriptor's limit, or 100. */
  maxRounds?: number;
  /**
   * The bundle's descriptor: `params` and each step are checked against it, as in a started thread. A strict descriptor
   * refuses a step that does not fit; otherwise the step is in the outcome's `mismatches`.
   */
  descriptor?: Descriptor;
  /** The answers to the next waits, in order; or a function that may answer each wait. */
  answers?: readonly TestAnswer[] | ((wait: Step) => TestAnswer | undefined);
  threadId?: string;
  /** The working folder of the roles, `/` by default. */
  cwd?: string;
  /** The thread's environment, without the variables of the process. */
  env?: Readonly<Record<string, string>>;
  /** Kills the thread when aborted. */
  signal?: AbortSignal;
  /** Other entries of `options`. */
  options?: Record<string, unknown>;
  /** The clock for new steps, `Date.now` by default. */
  now?: () => number;
};

type Ending<Value = unknown> =
  | { status: "completed"; reason: "returned" | "maxRounds"; result: WorkflowResult<Value> }
  | { status: "failed"; reason: "returned"; result: WorkflowResult<Value> }
  | { status: "failed"; reason: "failed"; message: string; error: unknown }
  | { status: "killed" }
  | { status: "waiting"; wait: Step };

/**
 * The end of a thread, with all of its steps. `waiting`: no answer was left for its last step. `failed` includes a
 * return code other than 0.
 */
export type ThreadOutcome<Value = unknown> = {
  steps: Step[];
  mismatches?: StepMismatch[];
} & Ending<Value>;

/** A step that does not fit the descriptor, as a warning of the thread. */
export type StepMismatch = { role: string; problem: string };

/**
 * Drives a workflow in memory as the engine does: every step is checked and stored as JSON before the next step is
 * requested, the thread ends with its maxRounds-th step, a `__wait__` gets the next answer as an `__input__` step, and
 * aborting `signal` ends the thread at once. Steps, answers and params pass the engine's own checks. Unlike in the
 * engine, waits don't expire; sleeps and delays of retries end at once. A failure of the workflow is an outcome, not an
 * error.
 *
 *     const { steps, status } = await runThread(run, { descriptor, prompt: "fix it", answers: ["yes"] });
 *
 * @throws WorkflowError `PARAMS_INVALID`; `ANSWER_INVALID` and `NOT_A_DECISION` for an answer.
 */
export async function runThread<Value>(
  workflow: WorkflowFn<Value>,
  options: RunThreadOptions = {},
): Promise<ThreadOutcome<Value>> {
  const { descriptor } = options;
  if (descriptor && !options.steps) await checkStartParams({ descriptor }, options, "<name>");
  const mismatches: StepMismatch[] = [];
  const thread = new TestThread(options, await checkOf(descriptor, mismatches));
  const ending = await thread.drive(workflow);
  const noted = mismatches.length > 0 ? { mismatches } : {};
  return { steps: thread.steps, ...noted, ...(ending as Ending<Value>) };
}

async function checkOf(descriptor: Descriptor | undefined, mismatches: StepMismatch[]) {
  if (!descriptor) return null;
  const schemas = new RoleSchemas(await checkDescriptor(descriptor));
  if (schemas.isStrict) await schemas.compile();
  return new DescriptorCheck(schemas, (_attempt, mismatch) => mismatches.push(mismatch));
}

class TestThread {
  readonly steps: Step[] = [];
  readonly #options: RunThreadOptions;
  readonly #maxRounds: number;
  readonly #aborted: Promise<null>;
  readonly #check: DescriptorCheck | null;
  #answered = 0;

  constructor(options: RunThreadOptions, check: DescriptorCheck | null) {
    this.#options = options;
    this.#check = check;
    this.#maxRounds = options.maxRounds ?? options.descriptor?.maxRounds ?? 100;
    const { signal, steps = [] } = options;
    this.#aborted = new Promise((resolve) => {
      if (signal?.aborted) resolve(null);
      signal?.addEventListener("abort", () => resolve(null), { once: true });
    });
    for (const step of steps) this.#keep(step, step.timestamp);
  }

  async drive(workflow: WorkflowFn): Promise<Ending> {
    let after = await this.#settle();
    if ("status" in after) return after;
    const thread = this.#start(workflow);
    try {
      for (;;) {
        const next = await this.#next(thread, after.sent);
        if ("status" in next) return next;
        this.#keep(next.step);
        this.#check?.committed(next.step, undefined);
        after = await this.#settle();
        if ("status" in after) return after;
      }
    } finally {
      const closed = thread.return({ returnCode: 1, summary: "" }).catch(() => {});
      if (this.#options.signal?.aborted !== true) await closed;
      await this.#check?.settled();
    }
  }

  /** Returns the next step, checked, or the end of the thread. */
  async #next(
    thread: ReturnType<WorkflowFn>,
    sent: Step | undefined,
  ): Promise<Ending | { step: RoleOutput }> {
    try {
      const next = await Promise.race([this.#aborted, thread.next(sent)]);
      if (next === null) return { status: "killed" };
      return next.done === true ? returned(next.value) : { step: await this.#checked(next.value) };
    } catch (error) {
      return { status: "failed", reason: "failed", message: messageOf(error), error };
    }
  }

  /**
   * Returns the end of the thread after its last step, or the answer to that step, which is then sent to the generator.
   */
  async #settle(): Promise<Ending | { sent?: Step }> {
    const last = this.steps.at(-1);
    const asks = last?.role === WAIT && this.steps.length < this.#maxRounds;
    const sent = asks ? await this.#answer(last) : undefined;
    if (asks && !sent) return { status: "waiting", wait: last };
    if (this.steps.length < this.#maxRounds) return { sent };
    const summary = `stopped at ${this.steps.length} steps`;
    return { status: "completed", reason: "maxRounds", result: { returnCode: 0, summary } };
  }

  #start(workflow: WorkflowFn): ReturnType<WorkflowFn> {
    const { prompt = "", params, threadId = testThreadId } = this.#options;
    const { signal = new AbortController().signal, cwd = "/", env = {}, options } = this.#options;
    const input = { prompt, steps: structuredClone(this.steps), params };
    const maxRounds = this.#maxRounds;
    const all = { ...options, threadId, maxRounds, signal, cwd, env, [withoutDelays]: true };
    return workflow(input, withRecorded(workflow, all));
  }

  async #checked(yielded: unknown): Promise<RoleOutput> {
    const number = this.steps.length + 1;
    const checked = checkStep(yielded);
    let problem = checked.ok ? null : checked.reason;
    if (checked.ok && checked.step.role === WAIT) {
      problem = await schemaProblem(checked.step.meta as WaitMeta, compileForAnswer);
    }
    if (!checked.ok || problem !== null) throw badStep(number, String(problem));
    const refusal = this.#check?.refusal(checked.step) ?? null;
    if (refusal !== null) throw stepRefused(number, refusal);
    return checked.step;
  }

  #keep({ role, content, meta }: RoleOutput, timestamp?: number): Step {
    const { now = Date.now } = this.#options;
    const step = { role, content, meta, timestamp: timestamp ?? now() };
    this.steps.push(step);
    return structuredClone(step);
  }

  /** Commits the next answer, if any, and returns its step. */
  async #answer(asked: Step): Promise<Step | undefined> {
    const wait = asked.meta as WaitMeta;
    if (sleepsUntil(asked) !== null) return this.#keep(timeoutStep(wait));
    const { answers = [], threadId = testThreadId } = this.#options;
    const given = typeof answers === "function" ? answers(asked) : answers[this.#answered];
    this.#answered += 1;
    if (given === undefined) return undefined;
    if (typeof given !== "string" && given.meta.timedOut === true) {
      return this.#keep({ role: INPUT, ...given });
    }
    const question = { number: this.steps.length, wait: { ...wait, expiresAt: undefined } };
    const parts = { judge: compileForAnswer, now: () => 0 };
    try {
      return this.#keep(await answerStep(threadId, question, { input: inputOf(given) }, parts));
    } catch (error) {
      throw isWorkflowError(error) ? badTestAnswer(this.#answered, wait, error) : error;
    }
  }
}

const testThreadId = "00000000000000000000000000";

function returned(value: unknown): Ending {
  const checked = checkResult(value);
  if (!checked.ok) throw badReturnValue(checked.reason);
  const { result } = checked;
  if (result.returnCode === 0) return { status: "completed", reason: "returned", result };
  return { status: "failed", reason: "returned", result };
}

// Helpers for the tests of durable workflows.

/** Returns a step with text only. */
export const text = (role: string, content: string): RoleOutput => ({ role, content, meta: {} });

/** Runs a program as a thread in memory. */
export const run = (
  program: DurableProgram,
  options: RunThreadOptions = {},
): Promise<ThreadOutcome> => runThread(durable(program), options);

export const roles = ({ steps }: ThreadOutcome): string[] => steps.map((step) => step.role);

/** Returns the summary, or without a summary all facts of the end as JSON. */
export const summary = (outcome: ThreadOutcome): string =>
  "result" in outcome ? outcome.result.summary : JSON.stringify({ ...outcome, steps: undefined });
