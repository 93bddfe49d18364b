import { INPUT, type JsonSchema, type Step, WAIT, type WaitMeta } from "../contract/contract.ts";
import { isApproval } from "../contract/decision.ts";
import { isRecord } from "../contract/show.ts";
import type { AttemptError } from "../contract/event.ts";
import { sleepsUntil } from "../contract/wait.ts";
import type { LiveStatus } from "../control/control.ts";
import { exampleOf } from "./example.ts";
import type { ThreadTimes } from "./times.ts";
import type { Break, EndRecord, FailureRecord, LogFacts, StartRecord } from "./record.ts";
import { newerLog } from "./errors.ts";

/** The name of a thread's status. */
export type Status = ThreadStatus["status"];

/** All statuses of a thread. */
export const statuses: readonly Status[] = [
  "running",
  "paused",
  "waiting",
  "completed",
  "failed",
  "killed",
  "interrupted",
  "moved",
  "corrupt",
];

/**
 * Result of an ended thread: its summary or the message of its failure. `value` is the JSON value that the workflow
 * returned, absent without one. `reason` is set when the thread was stopped at its limit of steps.
 */
export type ThreadResult = {
  returnCode: number;
  summary: string;
  value?: unknown;
  reason?: "maxRounds";
};

/** The error that a thread failed with. */
export type ThreadFailure = FailureRecord & Pick<AttemptError, "message">;

/** Failure of a thread; null when it did not fail, or failed by a return code other than 0. */
export const failureOf = (state: ThreadStatus): ThreadFailure | null =>
  state.status === "failed" && state.error
    ? { message: state.result.summary, ...state.error }
    : null;

/**
 * Status of a thread with the fields of that status. `pid` is the process id of its worker, `pausing` means that the
 * thread pauses at the end of its step, and `movedTo` is the host to which it moved.
 */
export type ThreadStatus =
  | { status: "running"; pid: number; pausing?: true }
  | { status: "paused"; pid: number | null }
  | { status: "waiting"; question: Step; pid: number | null }
  | { status: "completed" | "killed"; result: ThreadResult }
  | { status: "failed"; result: ThreadResult; error: FailureRecord | null }
  | { status: "interrupted" }
  | { status: "moved"; movedTo: string }
  | { status: "corrupt"; broken: Break };

/** Identifies a thread: the hash of its version, and its id. */
export type ThreadRef = { hash: string; threadId: string };

/** A whole thread. Times are in milliseconds since the epoch. A corrupt thread has the steps before the break. */
export type ThreadView = ThreadStatus &
  ThreadTimes & {
    threadId: string;
    workflow: string;
    hash: string;
    prompt: string;
    /** Absent without params. */
    params?: unknown;
    maxRounds: number;
    /** The maximum US dollars and tokens that its agents may spend; absent without a limit. */
    limits?: { maxCost?: number; maxTokens?: number };
    createdAt: number;
    steps: Step[];
    forkFrom: ForkFrom | null;
    /** The host to which the thread moved; absent for a local thread. */
    movedTo?: string;
  };

/** The source of a fork, and the number of steps that it keeps. */
export type ForkFrom = { threadId: string; steps: number };

/** Source of a fork in a start record; null for other threads. */
export const forkFromIn = ({ forkFrom }: StartRecord): ForkFrom | null =>
  forkFrom ? { threadId: forkFrom.threadId, steps: forkFrom.steps } : null;

/** A thread in `thread --json` and the HTTP API. Fields that its status lacks are null. */
export type ThreadJson = Omit<ThreadView, keyof ThreadStatus> & {
  status: Status;
  result: ThreadResult | null;
  /** Present only when the thread failed by an error. */
  error?: ThreadFailure;
  pid: number | null;
};

/** Returns a thread in its public JSON form. */
export function threadJson(view: ThreadView): ThreadJson {
  const { threadId, workflow, hash, status, prompt, params, maxRounds, createdAt } = view;
  const error = failureOf(view);
  return {
    threadId,
    workflow,
    hash,
    status,
    prompt,
    ...(params === undefined ? {} : { params }),
    maxRounds,
    ...(view.limits && { limits: view.limits }),
    createdAt,
    workedMs: view.workedMs,
    waitedMs: view.waitedMs,
    steps: view.steps,
    result: "result" in view ? view.result : null,
    ...(error && { error }),
    forkFrom: view.forkFrom,
    pid: "pid" in view ? view.pid : null,
    ...(view.movedTo !== undefined && { movedTo: view.movedTo }),
  };
}

/**
 * A line of `threads --json`. `steps` is the number of steps. `reason` is set when the thread was stopped at its limit
 * of steps.
 */
export type ThreadRow = ThreadTimes & {
  threadId: string;
  workflow: string;
  hash: string;
  status: Status;
  reason?: "maxRounds";
  steps: number;
  createdAt: number;
  updatedAt: number;
  /** End of the thread's sleep, in milliseconds since the epoch; absent when it does not sleep. */
  sleepingUntil?: number;
  /** The host to which the thread moved; absent for a local thread. */
  movedTo?: string;
  /** The first line of the thread's prompt, else its params, else its workflow's name; at most 200 characters. */
  subject: string;
  at: ThreadPlace;
  spent: ThreadSpending;
  /** Whether the thread, or one of its attempts, failed. */
  hasError: boolean;
};

/**
 * Place of a thread. `role` is the failed role or the role that asks, null if it is unknown; else the running role, or
 * the role of the last step. `text` is the first line of the error or question; null for other threads. At most 200
 * characters.
 */
export type ThreadPlace = { role: string | null; text: string | null };

/**
 * Spending of a thread's own steps, lost attempts and running attempts. `cost` is the known part in US dollars;
 * `unpriced` counts the parts with an unknown price.
 */
export type ThreadSpending = { tokens: number; cost: number; unpriced: number };

/** A line of `ps --json`. */
export type LiveRow = ThreadTimes & {
  threadId: string;
  workflow: string;
  hash: string;
  status: LiveStatus;
  pid: number;
  steps: number;
  role: string | null;
  elapsedMs: number;
  /** End of the thread's sleep, in milliseconds since the epoch. */
  sleepingUntil?: number;
  /** Set while a running thread waits for the end of its step to pause. */
  pausing?: true;
};

/** Report of a live worker on a thread. `role` is the running role, if known. */
export type LiveFacts = {
  status: LiveStatus;
  pid: number;
  pausing?: true;
  role?: string | null;
};

/** Facts about a thread beside its log: the host to which it moved, and whether a user paused it. */
export type Noted = { movedTo: string | null; paused: boolean };

const nothingNoted: Noted = { movedTo: null, paused: false };

/**
 * Computes the status of a thread. Its log decides first, then a move to another host, then the report of its live
 * worker (null without one), then a pause. The status is never stored. A paused thread with a question is `waiting`: it
 * accepts an answer, and then pauses. A paused sleeping thread is `paused`: it does not wake.
 */
export function statusOf(
  { broken, end, last }: LogFacts,
  live: LiveFacts | null,
  { movedTo, paused }: Noted = nothingNoted,
): ThreadStatus {
  if (broken) return { status: "corrupt", broken };
  if (end) return endedStatus(end);
  if (movedTo !== null) return { status: "moved", movedTo };
  const waits = last?.role === WAIT && (!live || live.status === "waiting");
  if (waits && !(paused && sleepsUntil(last) !== null)) {
    return { status: "waiting", question: last, pid: live?.pid ?? null };
  }
  if (waits || live?.status === "paused") return { status: "paused", pid: live?.pid ?? null };
  if (live) return { status: "running", pid: live.pid, ...(live.pausing && { pausing: true }) };
  return paused ? { status: "paused", pid: null } : { status: "interrupted" };
}

/** Whether a thread with this status is driven by a worker, or paused. */
export const isMoving = (status: Status): boolean => status === "running" || status === "paused";

/** Whether a thread in this state runs, is paused or sleeps: it has not ended, and does not need an answer. */
export const goesOn = (state: ThreadStatus): boolean =>
  isMoving(state.status) || (state.status === "waiting" && sleepsUntil(state.question) !== null);

/** Returns the status of an ended thread. */
export function endedStatus({ content, meta }: EndRecord): ThreadStatus {
  const { returnCode, value } = meta;
  const result: ThreadResult = {
    returnCode,
    summary: content,
    ...(value !== undefined && { value }),
  };
  if (meta.reason === "killed") return { status: "killed", result };
  const isDone = meta.reason === "returned" && meta.returnCode === 0;
  if (isDone) return { status: "completed", result };
  if (meta.reason === "maxRounds")
    return { status: "completed", result: { ...result, reason: "maxRounds" } };
  return { status: "failed", result, error: meta.error ?? null };
}

/** Returns the hint for answering a thread that waits at this step. */
export function answerHint(threadId: string, question: { meta: Step["meta"] } | null): string {
  const resume = `uncaged-workflow resume ${threadId}`;
  const meta = (question?.meta ?? { for: "" }) as WaitMeta;
  if (meta.for === "budget") return `raise the limit: ${resume} --input N`;
  if (meta.for === "limits") {
    const file = typeof meta.file === "string" ? meta.file : "the file that sets it";
    return `raise the limit in ${file}, then: ${resume} --input again`;
  }
  if (isApproval(meta))
    return `approve it: ${resume} --approve; or reject it: ${resume} --refuse REASON`;
  return meta.for === "tool"
    ? `approve it: ${resume} --approve; or change it: --edit JSON; or refuse it: --refuse REASON`
    : `answer it: ${resume} --input ${exampleAnswer(meta.schema)}`;
}

/** Returns an answer that fits a schema, as a word of a shell; a placeholder if no short example is known. */
function exampleAnswer(schema: JsonSchema | undefined): string {
  const isWords =
    !isRecord(schema) || schema.type === undefined || [schema.type].flat().includes("string");
  const isFree = isWords && !(isRecord(schema) && "enum" in schema);
  const example = isFree ? undefined : exampleOf(schema);
  const text = typeof example === "string" ? example : (JSON.stringify(example) ?? "");
  if (/^\w+$/.test(text)) return text;
  if (/^[^'\p{C}]{1,200}$/u.test(text)) return `'${text}'`;
  return isWords ? "'your answer'" : "JSON";
}

/**
 * Checks the role of a step.
 * @throws WorkflowError `NEWER_LOG` for a reserved role that this version would mistake for a workflow's role.
 */
export function checkRole(path: string, { role }: Step): void {
  if (!role.startsWith("__") || role === WAIT || role === INPUT) return;
  throw newerLog(path, role);
}
