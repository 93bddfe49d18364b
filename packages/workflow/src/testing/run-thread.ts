import { exactJson } from "../contract/exact-json.ts";
import { checkResult, checkStep } from "../contract/check.ts";
import {
  INPUT,
  type RoleOutput,
  type Step,
  WAIT,
  type WorkflowFn,
  type WorkflowResult,
} from "../contract/contract.ts";
import { WorkflowError, messageOf } from "../contract/error.ts";
import { sleepsUntil } from "../contract/wait.ts";
import { type DurableProgram, durable } from "../durable/durable.ts";
import { withRecorded } from "../durable/recorded.ts";

/** An answer to a waiting thread: its text, which may be JSON; or the content and meta of the `__input__` step. */
export type TestAnswer = string | { content: string; meta: Record<string, unknown> };

/** Options of a thread in memory. */
export type RunThreadOptions = {
  prompt?: string;
  /** Steps that are in the log already, as after a resume or a fork. */
  steps?: readonly (RoleOutput & { timestamp?: number })[];
  params?: unknown;
  /** 100 when absent. All steps of the thread count. */
  maxRounds?: number;
  /** The answers to the waits to come, in their order; or what answers each, if it does. */
  answers?: readonly TestAnswer[] | ((wait: Step) => TestAnswer | undefined);
  threadId?: string;
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  /** What else stands in `options`. */
  options?: Record<string, unknown>;
  /** The time of new steps; `Date.now` when absent. */
  now?: () => number;
};

type Ending<Value = unknown> =
  | { status: "completed"; reason: "returned" | "maxRounds"; result: WorkflowResult<Value> }
  | { status: "failed"; reason: "returned"; result: WorkflowResult<Value> }
  | { status: "failed"; reason: "failed"; message: string; error: unknown }
  | { status: "killed" }
  | { status: "waiting"; wait: Step };

/**
 * How far a thread came, with all of its steps. It is `waiting` when no answer was left for its last one, and
 * `failed` also when it returned another code than 0.
 */
export type ThreadOutcome<Value = unknown> = { steps: Step[] } & Ending<Value>;

/**
 * Drives a workflow in memory as the engine does: every step is checked and kept as its JSON before
 * the next is asked for, the thread ends with its maxRounds-th step, a `__wait__` gets the next
 * answer as an `__input__` step, an abort of `signal` ends it at once. Unlike the engine it checks no
 * answer against a schema, lets no wait expire, and every sleep end at once. Never rejects for what the workflow does.
 *
 *     const { steps, status } = await runThread(run, { prompt: "fix it", answers: ["yes"] });
 */
export async function runThread<Value>(
  workflow: WorkflowFn<Value>,
  options: RunThreadOptions = {},
): Promise<ThreadOutcome<Value>> {
  const thread = new TestThread(options);
  const ending = await thread.drive(workflow);
  return { steps: thread.steps, ...(ending as Ending<Value>) };
}

class TestThread {
  readonly steps: Step[] = [];
  readonly #options: RunThreadOptions;
  readonly #maxRounds: number;
  readonly #aborted: Promise<null>;
  #answered = 0;

  constructor(options: RunThreadOptions) {
    this.#options = options;
    this.#maxRounds = options.maxRounds ?? 100;
    const { signal, steps = [] } = options;
    this.#aborted = new Promise((resolve) => {
      if (signal?.aborted) resolve(null);
      signal?.addEventListener("abort", () => resolve(null), { once: true });
    });
    for (const step of steps) this.#keep(step, step.timestamp);
  }

  async drive(workflow: WorkflowFn): Promise<Ending> {
    let after = this.#settle();
    if ("status" in after) return after;
    const thread = this.#start(workflow);
    let sent: Step | undefined;
    try {
      for (;;) {
        const next = await Promise.race([this.#aborted, thread.next(sent)]);
        if (next === null) return { status: "killed" };
        if (next.done === true) return returned(next.value);
        this.#commit(next.value);
        after = this.#settle();
        if ("status" in after) return after;
        sent = after.sent;
      }
    } catch (error) {
      return { status: "failed", reason: "failed", message: messageOf(error), error };
    } finally {
      const closed = thread.return({ returnCode: 1, summary: "" }).catch(() => {});
      if (this.#options.signal?.aborted !== true) await closed;
    }
  }

  /** How the thread ends after its last step; else what the generator is sent, the answer to that step. */
  #settle(): Ending | { sent?: Step } {
    const last = this.steps.at(-1);
    const asks = last?.role === WAIT && this.steps.length < this.#maxRounds;
    const sent = asks ? this.#answer(last) : undefined;
    if (asks && !sent) return { status: "waiting", wait: last };
    if (this.steps.length < this.#maxRounds) return { sent };
    const summary = `stopped at ${this.steps.length} steps`;
    return { status: "completed", reason: "maxRounds", result: { returnCode: 0, summary } };
  }

  #start(workflow: WorkflowFn): ReturnType<WorkflowFn> {
    const { prompt = "", params, threadId = "00000000000000000000000000" } = this.#options;
    const { signal = new AbortController().signal, cwd = "/", env = {}, options } = this.#options;
    const input = { prompt, steps: structuredClone(this.steps), params };
    const maxRounds = this.#maxRounds;
    const all = { ...options, threadId, maxRounds, signal, cwd, env };
    return workflow(input, withRecorded(workflow, all));
  }

  #commit(yielded: unknown): void {
    const checked = checkStep(yielded);
    if (!checked.ok) {
      throw new WorkflowError({
        code: "BAD_STEP",
        message: `step ${this.steps.length + 1} breaks the contract: ${checked.reason}`,
      });
    }
    this.#keep(checked.step);
  }

  #keep({ role, content, meta }: RoleOutput, timestamp?: number): Step {
    const { now = Date.now } = this.#options;
    const step = { role, content, meta, timestamp: timestamp ?? now() };
    this.steps.push(step);
    return structuredClone(step);
  }

  /** Commits the next answer, if there is one. */
  #answer(wait: Step): Step | undefined {
    const { for: what } = wait.meta;
    if (sleepsUntil(wait) !== null) {
      return this.#keep({
        role: INPUT,
        content: "",
        meta: { for: what, timedOut: true, sleep: true },
      });
    }
    const { answers = [] } = this.#options;
    const given = typeof answers === "function" ? answers(wait) : answers[this.#answered];
    this.#answered += 1;
    return given === undefined ? undefined : this.#keep(inputOf(given, what));
  }
}

function inputOf(given: TestAnswer, what: unknown): RoleOutput {
  if (typeof given !== "string") return { role: INPUT, ...given };
  return { role: INPUT, content: given, meta: { for: what, ...exactJson(given) } };
}

function returned(value: unknown): Ending {
  const checked = checkResult(value);
  if (!checked.ok) {
    throw new WorkflowError({ code: "BAD_RESULT", message: checked.reason });
  }
  const { result } = checked;
  if (result.returnCode === 0) return { status: "completed", reason: "returned", result };
  return { status: "failed", reason: "returned", result };
}

// What the tests of durable workflows share.

/** A step with text only. */
export const text = (role: string, content: string): RoleOutput => ({ role, content, meta: {} });

/** Runs a program as a thread in memory. */
export const run = (
  program: DurableProgram,
  options: RunThreadOptions = {},
): Promise<ThreadOutcome> => runThread(durable(program), options);

export const roles = ({ steps }: ThreadOutcome): string[] => steps.map((step) => step.role);

/** The summary, or, when there is none, all that is known of the end, as JSON. */
export const summary = (outcome: ThreadOutcome): string =>
  "result" in outcome ? outcome.result.summary : JSON.stringify({ ...outcome, steps: undefined });
