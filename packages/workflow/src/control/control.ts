import type { AnsweredBy } from "../contract/contract.ts";
import type { ErrorRecord } from "../contract/error.ts";
import type { Orphan } from "../contract/event.ts";
import { toJson } from "../contract/json.ts";
import { requestNotJson } from "./errors.ts";

/**
 * The messages of the control socket: HTTP over `run/<hash>.sock`. Each request is answered with its
 * reply or with `{error}` and a 4xx or 5xx status, within {@link controlTimeoutMs}. Any other body is refused with
 * `BAD_REQUEST`.
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

/** The number of steps that a thread may have when neither its starter nor its bundle says. */
export const defaultMaxRounds = 100;

/** The largest limit of rounds that a thread can have. */
export const mostRounds = 1_000_000;

/** Whether a value can be a thread's maxRounds. */
export const isRounds = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= mostRounds;

/** The options of a workflow's `run` that the engine gives: a starter may give none of these names. */
export const engineOptions: ReadonlySet<string> = new Set([
  "threadId",
  "maxRounds",
  "signal",
  "cwd",
  "env",
  "forkFrom",
  "attempts",
]);

/** When a committed step is acknowledged: after `fdatasync`, or as soon as the system has it. */
export type Durability = "step" | "os";

/** Environment of a thread. It must not be logged. `secrets` are names of variables in `env`. */
export type Surroundings = {
  env: Record<string, string>;
  secrets?: readonly string[];
  durability?: Durability;
};

/** Replacement of parts of a step. `by` is the sender when the step is an answer, `api` by default. */
export type StepEdit = { content?: string; meta?: Record<string, unknown>; by?: AnsweredBy };

/** Source and copied steps of a fork, and the changes after them. */
export type ForkRequest = {
  hash: string;
  threadId: string;
  /** The numbers of the steps to keep, from 0, ascending. */
  keep: number[] | { first: number };
  /** Replaces parts of the last kept step. */
  edit?: StepEdit;
  /** An `__input__` step to put after the kept ones. */
  input?: InputRequest;
  /** Whether the next step ignores the source's records of it. */
  anew?: boolean | undefined;
};

/** Starts a thread; `threadId` is the caller's, so that asking twice starts one. */
export type StartRequest = Surroundings & {
  threadId: string;
  /** Whether the id was given and not generated: a thread of another version may have it. */
  isGiven?: boolean;
  workflow: string;
  /** With `fork`: the source's prompt and maxRounds when absent. Without: empty, and the bundle's own. */
  prompt?: string;
  maxRounds?: number;
  params?: unknown;
  options?: Record<string, unknown>;
  /** An `__input__` step to begin with; a fork brings its own. */
  input?: InputRequest;
  fork?: ForkRequest;
};

export type ResumeRequest = Surroundings;

/**
 * An answer to a waiting thread. `content` is the text as given. Without a `value` the text is read by the question's
 * schema; without a schema, exact JSON is read as JSON and anything else is a text. `meta.token` must be the
 * question's. An answer with a `meta.requestId` that was accepted before gets the same reply and has no further effect.
 * `by` is the sender, `api` by default; a `by` in `meta` is ignored.
 */
export type InputRequest = {
  content: string;
  value?: unknown;
  meta?: Record<string, unknown>;
  by?: AnsweredBy;
};

/** `question` is the number of the `__wait__` step that the answer is to: it answers no other one. */
export type AnswerRequest = Surroundings & { input: InputRequest; question?: number };

/** Variables from a folder's `.env` file for woken threads, or why the file can't be read. */
export type FolderEnv = { env: Record<string, string> } | { error: ErrorRecord };

/** Wakes the threads that are due, of the folders that are named or of none. */
export type WakeRequest = Surroundings & { folders: Record<string, FolderEnv> };

/** Woken threads, threads that could not be woken, and whether more are due. */
export type WokenHere = {
  woken: string[];
  failed: { threadId: string; error: ErrorRecord }[];
  more: boolean;
};

/** A host: an id that no other host has, and a name that people know it by. */
export type HostIdentity = { id: string; name: string };

/** Where a thread is: `host`, or here when that is null. `moves` is how often it has moved. */
export type Location = {
  moves: number;
  host: HostIdentity | null;
  /** When it left or arrived, in milliseconds since the epoch. */
  at: number;
  /** Present when it was paused when it left. */
  paused?: true;
};

export type RemoveRequest = { force: boolean };

/** Lets a thread go that goes on on another host. */
export type LeaveRequest = { to: HostIdentity };

/** `started` is false when the thread was there already. */
export type Started = { threadId: string; started: boolean };

export type LiveStatus = "running" | "paused" | "waiting";

export type LiveThread = {
  threadId: string;
  status: LiveStatus;
  /** The role of the last committed step. */
  role: string | null;
  steps: number;
  workflow: string;
  /** How long this worker has driven it, in milliseconds. */
  elapsedMs: number;
  /** Of the thread as a whole: for how long it was worked on, and for how long it waited, in milliseconds. */
  workedMs: number;
  waitedMs: number;
  /** Until when it sleeps, in milliseconds since the epoch. */
  sleepingUntil?: number;
  /** Set while a running thread waits for the end of its step to pause. */
  pausing?: true;
};

export type LiveThreads = { pid: number; threads: LiveThread[] };

/** `orphans` are the processes that were found running when a worker was killed before. */
export type Controlled = { threadId: string; orphans?: Orphan[] };

export type Failure = { error: ErrorRecord };

/**
 * The JSON of a request. @throws WorkflowError `VALUE_NOT_JSON` (usage): a worker that parses a value nested too deeply
 * crashes, and all of its threads with it.
 */
export function requestText(body: unknown): string {
  const written = toJson(body, "request");
  if (written.ok) return written.json;
  throw requestNotJson(written.reason);
}
