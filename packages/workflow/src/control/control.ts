import type { AnsweredBy } from "../contract/contract.ts";
import type { ErrorRecord } from "../contract/error.ts";
import type { Orphan } from "../contract/event.ts";
import { toJson } from "../contract/json.ts";
import { requestNotJson } from "./errors.ts";

/**
 * The messages of the control socket: HTTP over `run/<hash>.sock`. A response is the reply, or `{error}` with a 4xx or
 * 5xx status. It arrives within {@link controlTimeoutMs}. An invalid body gets `BAD_REQUEST`.
 *
 *     GET    /threads             -> LiveThreads
 *     POST   /threads             StartRequest  -> Started
 *     POST   /threads/:id/pause   -> Controlled
 *     POST   /threads/:id/resume  ResumeRequest -> Controlled
 *     POST   /threads/:id/recover ResumeRequest -> Controlled
 *     POST   /threads/:id/input   AnswerRequest -> Controlled
 *     POST   /threads/:id/kill    -> Controlled
 *     POST   /threads/:id/leave   LeaveRequest  -> Location
 *     DELETE /threads/:id         RemoveRequest -> Controlled
 *     POST   /wake                WakeRequest   -> WokenHere
 */
export const controlTimeoutMs = 60_000;

/** Default limit of the steps of a thread. */
export const defaultMaxRounds = 100;

/** Maximum value of a thread's maxRounds. */
export const mostRounds = 1_000_000;

/** Returns whether a value is a valid maxRounds. */
export const isRounds = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= mostRounds;

/** Options of `run` that the engine sets. Of these names, a start request may contain only `cwd`. */
export const engineOptions: ReadonlySet<string> = new Set([
  "threadId",
  "maxRounds",
  "signal",
  "cwd",
  "env",
  "forkFrom",
  "attempts",
]);

/** The moment when a committed step is acknowledged: `step` after `fdatasync`, `os` after the write. */
export type Durability = "step" | "os";

/** Environment of a thread, which must not be logged. `secrets` are the names of variables in `env` to mask. */
export type Surroundings = {
  env: Record<string, string>;
  secrets?: readonly string[];
  durability?: Durability;
};

/** A change of parts of a step. `by` is the sender when the step is an answer, `api` by default. */
export type StepEdit = { content?: string; meta?: Record<string, unknown>; by?: AnsweredBy };

/** The source of a fork, the steps to copy, and changes. */
export type ForkRequest = {
  hash: string;
  threadId: string;
  /** The numbers of the steps to keep, from 0, ascending. */
  keep: number[] | { first: number };
  /** Replaces parts of the last kept step. */
  edit?: StepEdit;
  /** An answer to the last kept step, or the `__input__` step that begins a rerun. */
  input?: InputRequest;
  isRerun?: true;
  /** Whether the next step ignores its records in the source's journal. */
  anew?: boolean | undefined;
};

/** Request to start a thread with the caller's `threadId`. Repeated requests start one thread. */
export type StartRequest = Surroundings & {
  threadId: string;
  /** Whether a user chose the id. Then a thread of another version may already have it. */
  isGiven?: boolean;
  workflow: string;
  /**
   * A fork has its source's prompt and maxRounds by default. Any other thread has an empty prompt and its bundle's
   * maxRounds.
   */
  prompt?: string;
  maxRounds?: number;
  params?: unknown;
  options?: Record<string, unknown>;
  /** An initial `__input__` step, which begins a rerun; a fork has `fork.input` instead. */
  input?: InputRequest;
  fork?: ForkRequest;
  /** The caller's W3C trace context. An invalid value is ignored. */
  traceparent?: string;
};

/** Request to resume a thread, with its environment. */
export type ResumeRequest = Surroundings;

/**
 * An answer to a waiting thread. `content` is the text as given. Without a `value` the text is parsed by the question's
 * schema; without a schema, exact JSON is parsed and any other text stays text. `meta.token` must be the question's
 * token. A repeated answer with the same `meta.requestId` gets the same reply and is otherwise ignored. `by` is the
 * sender, `api` by default; a `by` in `meta` is ignored.
 */
export type InputRequest = {
  content: string;
  value?: unknown;
  meta?: Record<string, unknown>;
  by?: AnsweredBy;
};

/**
 * Request to answer a question. `question` is the number of its `__wait__` step: the request is refused if another
 * question is open.
 */
export type AnswerRequest = Surroundings & { input: InputRequest; question?: number };

/** Variables from a folder's `.env` file for woken threads, or the reason why the file can't be read. */
export type FolderEnv = { env: Record<string, string> } | { error: ErrorRecord };

/** Request to wake due threads that were started in one of these folders, or without a folder. */
export type WakeRequest = Surroundings & { folders: Record<string, FolderEnv> };

/** Response to a wake request: woken threads, threads that could not be woken, and whether more threads are due. */
export type WokenHere = {
  woken: string[];
  failed: { threadId: string; error: ErrorRecord }[];
  more: boolean;
};

/** A host: a unique id, and a name for people. */
export type HostIdentity = { id: string; name: string };

/** Location of a thread: `host`, or this host when `host` is null. `moves` is the number of moves of the thread. */
export type Location = {
  moves: number;
  host: HostIdentity | null;
  /** Time of the last departure or arrival, in milliseconds since the epoch. */
  at: number;
  /** Present when the thread was paused at its departure. */
  paused?: true;
};

/** Request to remove a thread; `force` also removes an unfinished thread. */
export type RemoveRequest = { force: boolean };

/** Request to release a thread that continues on another host. */
export type LeaveRequest = { to: HostIdentity };

/** Response to a start request. `started` is false when the thread existed already. */
export type Started = { threadId: string; started: boolean };

/** Status of a thread that a worker drives. */
export type LiveStatus = "running" | "paused" | "waiting";

/** A worker's report of a thread that it drives. */
export type LiveThread = {
  threadId: string;
  status: LiveStatus;
  /** The running role, if known; else the role of the last committed step. */
  role: string | null;
  steps: number;
  workflow: string;
  /** Time since this worker started to drive the thread, in milliseconds. */
  elapsedMs: number;
  /** Working time and waiting time of the whole thread, in milliseconds. */
  workedMs: number;
  waitedMs: number;
  /** End of the thread's sleep, in milliseconds since the epoch. */
  sleepingUntil?: number;
  /** Set while a running thread waits for the end of its step to pause. */
  pausing?: true;
};

/** A worker's process id, and its reports of all driven threads. */
export type LiveThreads = { pid: number; threads: LiveThread[] };

/** Response to a control request. `orphans` are processes that outlived a killed worker. */
export type Controlled = { threadId: string; orphans?: Orphan[] };

/** The body of a response with a 4xx or 5xx status. */
export type Failure = { error: ErrorRecord };

/**
 * Formats a request as JSON.
 * @throws WorkflowError `VALUE_NOT_JSON` (usage): a value nested too deeply would crash the worker with all of its
 * threads.
 */
export function requestText(body: unknown): string {
  const written = toJson(body, "request");
  if (written.ok) return written.json;
  throw requestNotJson(written.reason);
}
