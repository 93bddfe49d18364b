import { INPUT, type RoleOutput, WAIT } from "@uncaged/workflow";
import type { FailurePolicy, PlanStep, StepStatus } from "../plan/plan.ts";
import { decisionIn, type FailureQuestion, recordOf, type StepRecord } from "./record.ts";

/** One step in one run. */
export type StepState = {
  readonly step: PlanStep;
  /** The step that created the subtask, or null for a step of the plan. `depth` counts from the plan's steps. */
  readonly by: string | null;
  readonly depth: number;
  status: StepStatus;
  /** The number of the last started attempt; 0 before the first attempt. */
  attempt: number;
  /** The number of starts of that attempt. The attempt starts again after a crash. */
  starts: number;
  /** The failed attempts of the current series. */
  failures: number;
  /** The time when the next attempt may start, in milliseconds since the epoch; null if no attempt follows. */
  retryAt: number | null;
  /** The delay before the next attempt and the failed attempt, for display. */
  after: { attempt: string; delay_ms: number } | null;
  /** The agent's session, if known. Only this step may use it. */
  session: string | null;
  output: string | null;
  error: string | null;
  isCancelled: boolean;
};

/** The part of a plan that a run depends on. */
type Definition = { steps: readonly PlanStep[]; failure_policy: FailurePolicy };

type Committed = RoleOutput & { timestamp?: number };

/** The maximum number of subtasks of a run, and their maximum depth. */
const mostSubtasks = 20;
const deepest = 2;

/**
 * The state of a run: a fold of the thread's steps alone. The same function folds a log and applies a newly committed
 * step, so a resumed run continues from the same state.
 *
 * - **P1** A step that is `running` without an end was interrupted, unless its agent runs right now.
 * - **P2** A step starts when all its dependencies have succeeded. A step with a failed or skipped dependency is
 *   skipped, unless a question about the dependency is still open.
 * - **P3** A stopped run does not start steps.
 */
export class PlanState {
  readonly #steps = new Map<string, StepState>();
  readonly #policy: FailurePolicy;
  /** The failed steps in the order of their failures. */
  readonly #failed: string[] = [];
  /** The failed steps to ask the user about, in order. */
  #questions: string[] = [];
  #asked: string | null = null;
  /** The step whose failure stopped the run; null for a run that is not stopped. */
  stoppedBy: string | null = null;

  constructor({ failure_policy, steps }: Definition) {
    this.#policy = failure_policy;
    for (const step of steps) this.#add(step, null, 0);
  }

  /** All steps in the plan's order, then the subtasks in the order of their creation. */
  get steps(): StepState[] {
    return [...this.#steps.values()];
  }

  get isDone(): boolean {
    return this.steps.every(({ status }) => status !== "pending" && status !== "running");
  }

  /** The failed steps without a successful retry, in the order of their failures. */
  get failed(): StepState[] {
    return this.#failed.flatMap((id) => this.#steps.get(id) ?? []);
  }

  /** The failed step of the next question to the user. */
  get question(): StepState | null {
    return this.find(this.#questions[0] ?? "");
  }

  find(id: string): StepState | null {
    return this.#steps.get(id) ?? null;
  }

  /** The started steps, in the plan's order, including steps that wait for their next attempt. */
  get begun(): StepState[] {
    return this.steps.filter(({ status }) => status === "running");
  }

  /** The steps that may start now (P2), in the plan's order. */
  get ready(): StepState[] {
    if (this.stoppedBy !== null || this.#questions.length > 0) return [];
    return this.steps.filter(
      ({ status, step }) =>
        status === "pending" &&
        step.depends_on.every((id) => this.#steps.get(id)?.status === "succeeded"),
    );
  }

  /** The steps that will never run, each with the step that prevents it. */
  get skippable(): { state: StepState; because: string }[] {
    const pending = this.steps.filter(({ status }) => status === "pending");
    const { stoppedBy } = this;
    if (stoppedBy !== null) return pending.map((state) => ({ state, because: stoppedBy }));
    return pending.flatMap((state) => {
      const because = state.step.depends_on.find((id) => this.#isLost(id));
      return because === undefined ? [] : [{ state, because }];
    });
  }

  /** Returns the reason why a subtask is refused, or null if it is allowed. */
  refusal(step: PlanStep, by: string): string | null {
    const depth = (this.find(by)?.depth ?? 0) + 1;
    const count = this.steps.filter((one) => one.by !== null).length;
    if (this.#steps.has(step.id)) return `the run already has a step ${JSON.stringify(step.id)}`;
    if (depth > deepest) return `subtasks can be at most ${deepest} levels deep`;
    if (count >= mostSubtasks)
      return `the run already has ${mostSubtasks} subtasks, which is the maximum`;
    const unknown = step.depends_on.find((id) => !this.#steps.has(id));
    return unknown === undefined ? null : `no step ${JSON.stringify(unknown)} found`;
  }

  /** Applies a committed step. A step of an unknown role changes nothing. */
  apply(step: Committed): void {
    if (step.role === WAIT) this.#ask(step.meta);
    else if (step.role === INPUT) this.#answer(step);
    else {
      const record = recordOf(step);
      if (record?.event === "subtask") this.#addSubtask(record);
      const state = this.#steps.get(step.role);
      if (record && state) this.#record(state, record, step);
    }
  }

  #add(step: PlanStep, by: string | null, depth: number): void {
    this.#steps.set(step.id, {
      ...{ step, by, depth, status: "pending", attempt: 0, starts: 0, failures: 0 },
      ...{ retryAt: null, after: null, session: null, output: null, error: null },
      isCancelled: false,
    });
  }

  #addSubtask({ by, step }: Extract<StepRecord, { event: "subtask" }>): void {
    if (this.#steps.has(step.id)) return;
    this.#add(step, by, (this.find(by)?.depth ?? 0) + 1);
  }

  #record(
    state: StepState,
    record: StepRecord,
    { attempt, content, timestamp = Date.now() }: Committed,
  ): void {
    switch (record.event) {
      case "started":
        this.#forget(state.step.id);
        state.session = record.sdkSessionId ?? null;
        state.starts = record.attempt === state.attempt ? state.starts + 1 : 1;
        state.attempt = record.attempt;
        state.status = "running";
        state.retryAt = null;
        return;
      case "attempt_failed":
        state.failures += 1;
        state.session = record.sdkSessionId ?? null;
        state.error = record.error;
        state.after = attempt === undefined ? null : { attempt, delay_ms: record.delayMs };
        state.retryAt = timestamp + record.delayMs;
        return;
      case "succeeded":
        state.status = "succeeded";
        state.output = content;
        state.error = null;
        return;
      case "failed":
        return this.#fail(state, record);
      case "skipped":
        state.status = "skipped";
        return;
      case "subtask":
    }
  }

  #fail(
    state: StepState,
    { cancelled, error, sdkSessionId }: Extract<StepRecord, { event: "failed" }>,
  ): void {
    const { id } = state.step;
    state.status = "failed";
    state.session = sdkSessionId ?? null;
    state.error = error;
    state.isCancelled = cancelled === true;
    state.retryAt = null;
    this.#forget(id);
    this.#failed.push(id);
    if (state.isCancelled) return;
    const { on_step_failure: policy } = this.#policy;
    if (policy === "stop") this.stoppedBy ??= id;
    if (policy === "ask_user" && this.stoppedBy === null) this.#questions.push(id);
  }

  #forget(id: string): void {
    const at = this.#failed.indexOf(id);
    if (at >= 0) this.#failed.splice(at, 1);
    this.#questions = this.#questions.filter((one) => one !== id);
  }

  #ask(meta: RoleOutput["meta"]): void {
    this.#asked = meta.for === "step_failure" ? (meta as FailureQuestion).stepId : null;
  }

  #answer(step: RoleOutput): void {
    const state = this.find(this.#asked ?? "");
    this.#asked = null;
    if (state === null) return this.#wake();
    const { id } = state.step;
    this.#questions = this.#questions.filter((one) => one !== id);
    switch (decisionIn(step)) {
      case "retry":
        state.status = "pending";
        state.failures = 0;
        return this.#forget(id);
      case "skip":
        return;
      default:
        this.stoppedBy = id;
        this.#questions = [];
    }
  }

  /** Ends a sleep. A sleep lasts until the earliest next attempt. */
  #wake(): void {
    const times = this.begun.flatMap(({ retryAt }) => retryAt ?? []);
    const first = Math.min(...times);
    for (const state of this.begun) if (state.retryAt === first) state.retryAt = 0;
  }

  /** Tells whether a step cannot succeed in the rest of the run. */
  #isLost(id: string): boolean {
    const status = this.#steps.get(id)?.status;
    return status === "skipped" || (status === "failed" && !this.#questions.includes(id));
  }
}
