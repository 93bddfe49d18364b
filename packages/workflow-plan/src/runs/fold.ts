import type { Step } from "@uncaged/workflow";
import type { EndRecord, StartRecord } from "@uncaged/workflow/host";
import type { FailurePolicy, PlanStep } from "../plan/plan.ts";
import { cancelledByUser, runIdOf, stepRunId, threadIdOf } from "../plan/terms.ts";
import { recordOf } from "../state/record.ts";
import { PlanState, type StepState } from "../state/state.ts";
import type { RunRow, SessionRow, StepRow } from "../store/rows.ts";

/** The log of a run's thread. `isBroken` tells whether unreadable records follow. */
export type RunLog = {
  start: StartRecord;
  steps: readonly Step[];
  end: EndRecord | null;
  isBroken: boolean;
};

/** The rows of a run. They depend only on the log of its thread. */
export type RunRows = { run: RunRow; steps: StepRow[]; sessions: SessionRow[] };

const broken = "the log of its thread is broken: uncaged-workflow verify";

/** The times of a step's first start, last end and last record, and the session of its agent. */
type Times = {
  startedAt: number | null;
  endedAt: number | null;
  lastAt: number | null;
  session: string | null;
};

type Definition = { steps: readonly PlanStep[]; failure_policy: FailurePolicy };

/** The fold of a run's log to its rows. */
export class RunFold {
  readonly #start: StartRecord;
  readonly #state: PlanState;
  readonly #times = new Map<string, Times>();
  #lastAt: number;

  constructor(plan: Definition, start: StartRecord) {
    this.#start = start;
    this.#state = new PlanState(plan);
    this.#lastAt = start.timestamp;
  }

  add(step: Step): void {
    this.#state.apply(step);
    record(this.#times, step);
    this.#lastAt = step.timestamp;
  }

  /** Returns the rows of the steps so far, with the end of the log. */
  rows({ end, isBroken }: Pick<RunLog, "end" | "isBroken">): RunRows {
    const [state, times] = [this.#state, this.#times];
    const endedAt = end?.timestamp ?? (isBroken ? this.#lastAt : null);
    const run = runRow(state, this.#start, { end, endedAt });
    const steps = state.steps.map((one) => stepRow(one, run, timesOf(times, one)));
    const begun = state.steps.filter((one) => timesOf(times, one).startedAt !== null);
    const sessions = begun.map((one) => sessionRow(one, run, timesOf(times, one)));
    return { run, steps, sessions };
  }
}

const never: Times = { startedAt: null, endedAt: null, lastAt: null, session: null };

const timesOf = (times: ReadonlyMap<string, Times>, { step }: StepState): Times =>
  times.get(step.id) ?? never;

function record(times: Map<string, Times>, step: Step): void {
  const found = recordOf(step);
  if (found === null || found.event === "subtask" || found.event === "skipped") return;
  const before = times.get(step.role) ?? never;
  const isEnd = found.event === "succeeded" || found.event === "failed";
  times.set(step.role, {
    startedAt: before.startedAt ?? step.timestamp,
    endedAt: isEnd ? step.timestamp : null,
    lastAt: step.timestamp,
    session: found.sdkSessionId ?? before.session,
  });
}

function runRow(
  state: PlanState,
  start: StartRecord,
  { end, endedAt }: { end: EndRecord | null; endedAt: number | null },
): RunRow {
  const { triggerData, workflowId } = start.parameters.options;
  const isCompleted = end?.meta.reason === "returned" && end.meta.returnCode === 0;
  return {
    id: runIdOf(start.threadId),
    workflow_id: String(workflowId),
    trigger_data: typeof triggerData === "string" ? triggerData : null,
    status: endedAt === null ? "running" : isCompleted ? "completed" : "failed",
    started_at: isoOf(start.timestamp),
    completed_at: endedAt === null ? null : isoOf(endedAt),
    error: endedAt === null || isCompleted ? null : errorOf(state, end),
    duration_ms: endedAt === null ? null : Math.max(0, endedAt - start.timestamp),
  };
}

function errorOf({ failed }: PlanState, end: EndRecord | null): string {
  if (end === null) return broken;
  if (end.meta.reason === "killed") return cancelledByUser;
  const [first] = failed;
  const isOwn = end.meta.reason === "returned" && first !== undefined;
  return isOwn ? `step ${first.step.id} failed: ${first.error ?? ""}` : end.content;
}

/**
 * Returns a step's final status. At the end of the run, an unfinished step counts as cancelled, and a step that had not
 * started as skipped.
 */
function statusOf({ status }: StepState, run: RunRow): StepRow["status"] {
  if (run.status === "running") return status;
  if (status === "running") return "failed";
  return status === "pending" ? "skipped" : status;
}

function stepRow(state: StepState, run: RunRow, { endedAt, startedAt }: Times): StepRow {
  const status = statusOf(state, run);
  const isLeft = state.status === "running" && status === "failed";
  const completedAt = isLeft ? run.completed_at : endedAt === null ? null : isoOf(endedAt);
  const isOver = completedAt !== null && startedAt !== null;
  return {
    id: stepRunId(threadIdOf(run.id), state.step.id),
    run_id: run.id,
    step_id: state.step.id,
    status,
    output_json: state.output === null ? null : JSON.stringify(state.output),
    error: isLeft ? run.error : state.status === "failed" ? state.error : null,
    started_at: startedAt === null ? null : isoOf(startedAt),
    completed_at: completedAt,
    duration_ms: isOver ? Math.max(0, Date.parse(completedAt) - startedAt) : null,
  };
}

function sessionRow(
  state: StepState,
  run: RunRow,
  { lastAt, session, startedAt }: Times,
): SessionRow {
  const id = stepRunId(threadIdOf(run.id), state.step.id);
  return {
    id: `sess_${id}`,
    step_run_id: id,
    sdk_session_id: session,
    created_at: isoOf(startedAt ?? 0),
    last_used_at: isoOf(lastAt ?? 0),
    is_active: Number(statusOf(state, run) === "running"),
  };
}

const isoOf = (ms: number): string => new Date(ms).toISOString();
