import type { Fixture } from "@uncaged/workflow/interpreter";
import type { WorkflowError, WorkflowOptions } from "@uncaged/workflow";
import { setTimeout as sleep } from "node:timers/promises";
import type { StepAgent, StepAnswer, StepRequest, StepSurroundings } from "../agent/agent.ts";
import type { PlanStep } from "../plan/plan.ts";
import { recordOf, type StepRecord } from "../state/record.ts";
import type { PlanState } from "../state/state.ts";
import { noRecordedAnswer, recordedFailure } from "./errors.ts";

/** Maximum time for which the replay of a cancelled attempt waits for its cancellation, in milliseconds. */
const mostWaitMs = 60_000;

type Ended = Extract<StepRecord, { event: "succeeded" | "attempt_failed" | "failed" }>;

/** The events of one attempt at a step in order, and its end. */
type RecordedAttempt = {
  made: (PlanStep | { notice: string })[];
  end: { record: Ended; content: string } | null;
};

/**
 * The recorded attempts at a plan's steps in a fixture. An attempt creates the subtasks, sends the notices and ends
 * like the recorded attempt of the same number. Attempts do not start agents or wait for delays.
 */
export class RecordedAttempts {
  readonly #threadId: string;
  readonly #state: PlanState;
  readonly #attempts = new Map<string, RecordedAttempt>();
  #missing: WorkflowError | null = null;

  constructor({ steps, threadId }: Fixture, state: PlanState) {
    this.#threadId = threadId;
    this.#state = state;
    const last = new Map<string, number>();
    for (const { content, meta, role } of steps) {
      const record = recordOf({ role, content, meta });
      if (record?.event === "started") last.set(role, record.attempt);
      else if (record?.event === "subtask") this.#at(record.by, last).made.push(record.step);
      else if (meta.event === "notice") this.#at(role, last).made.push({ notice: content });
      else if (record && record.event !== "skipped")
        this.#at(role, last).end ??= { record, content };
    }
  }

  /** Returns the recorded attempts in a thread's options, or null if an agent runs its steps. */
  static of({ fixture, recorded }: WorkflowOptions, state: PlanState): RecordedAttempts | null {
    // The fixture has been checked before `recorded` is set.
    return recorded === undefined ? null : new RecordedAttempts(fixture as Fixture, state);
  }

  readonly agent: StepAgent = async (request, around) => {
    const attempt = this.#attempts.get(nameOf(request));
    if (!attempt?.end) throw this.#noAnswer(request);
    for (const one of attempt.made) await this.#make(one, request, around);
    return await this.#ended(attempt.end, request, around);
  };

  /** Reports a missing answer, which is not a failure of the step. @throws WorkflowError `NO_RECORDED_ANSWER` */
  check(): void {
    if (this.#missing) throw this.#missing;
  }

  #at(stepId: string, last: ReadonlyMap<string, number>): RecordedAttempt {
    const name = nameOf({ stepId, attempt: last.get(stepId) ?? 1 });
    const attempt = this.#attempts.get(name) ?? { made: [], end: null };
    this.#attempts.set(name, attempt);
    return attempt;
  }

  async #make(
    one: RecordedAttempt["made"][number],
    { stepId }: StepRequest,
    { createSubtask, notify }: StepSurroundings,
  ): Promise<void> {
    if ("notice" in one) return await notify(one.notice);
    // An interrupted attempt starts again, and may already have created the subtask.
    if (this.#state.find(one.id)?.by === stepId) return;
    const { depends_on, description, id, inputs } = one;
    await createSubtask({ id, description, inputs, depends_on });
  }

  async #ended(
    { content, record }: NonNullable<RecordedAttempt["end"]>,
    request: StepRequest,
    { thread: { signal } }: StepSurroundings,
  ): Promise<StepAnswer> {
    if (record.event === "succeeded") {
      const { model } = record;
      return { output: content, ...(typeof model === "string" && { model }) };
    }
    if (record.event === "attempt_failed" || !record.cancelled) {
      throw recordedFailure(record.error);
    }
    // In the recording, another step's failure ended this attempt. Unless this version differs, that failure ends the
    // attempt here too.
    await sleep(mostWaitMs, undefined, { signal });
    throw this.#noAnswer(request);
  }

  #noAnswer({ attempt, stepId }: StepRequest): WorkflowError {
    this.#missing ??= noRecordedAnswer(this.#threadId, stepId, attempt);
    return this.#missing;
  }
}

const nameOf = ({ attempt, stepId }: Pick<StepRequest, "attempt" | "stepId">): string =>
  `${stepId}#${attempt}`;
