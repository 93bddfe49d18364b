import type { Attempts } from "./attempt.ts";
import type { Journal } from "./journal.ts";
import type { SharedValues } from "./shared-values.ts";
import type { RootSpending } from "./spending.ts";

/**
 * What each yield produces: one role's output. `attempt` is the id of the attempt that it is the result
 * of, for a workflow that opens attempts; the engine gives every other step one.
 */
export type RoleOutput = {
  role: string;
  content: string;
  meta: Record<string, unknown>;
  attempt?: string;
};

/**
 * What the generator returns when it is done. A `returnCode` of 0 means success. `value` is a JSON value for the callers
 * of the workflow, beside the summary for people.
 */
export type WorkflowResult<Value = unknown> = {
  returnCode: number;
  summary: string;
  value?: Value;
};

/** A role output in a thread's log. `timestamp` is in milliseconds since the epoch. */
export type Step = RoleOutput & { timestamp: number };

/**
 * Input to a workflow. `steps` is empty for a new thread and holds every committed step after a resume or a
 * fork; a workflow continues after them. `params` is what the starter gave as structured input, if anything.
 */
export type ThreadInput = {
  prompt: string;
  steps: (RoleOutput & { timestamp?: number })[];
  params?: unknown;
};

/**
 * Bytes that a thread keeps beside its log, each under the hash of what they are. They go with the thread, and a fork
 * gets those that the steps it copies name.
 */
export type Blobs = {
  /** Keeps bytes: they are on the disk when it resolves with their id, or with null when the thread has too many. */
  put(bytes: Uint8Array): Promise<string | null>;
  /** What was kept under an id; null when nothing was. */
  get(id: string): Promise<Uint8Array | null>;
  /** The ids of all that is kept, in no order. */
  ids(): Promise<string[]>;
};

/**
 * The second argument of `run`.
 *
 * `signal` is aborted when the thread is killed and when its worker shuts down. `cwd` and `env` are
 * those of the command that started the thread. A host always gives `cwd`; it is optional for callers that know the bare
 * contract alone, and required in `ctx` and in the options of `durable`. One process runs many threads, so a workflow must
 * read these and never `process.cwd()` or `process.env`. `forkFrom` names the thread that the first
 * `steps` steps of a fork were copied from, and as `origin` the first one, where that was itself a fork. `attempts` records which events belong to which of several
 * roles that run concurrently. `blobs` keeps bytes beside the thread's log, `journal` what a step has done before it is
 * committed, `shared` what all threads of the machine share, `pause` is for a `run` that drains. `worktrees` is the folder in which git worktrees of the thread lie: whoever
 * makes one makes it too, and it goes with the thread. Whatever else the starter gave in `parameters.options` is here under
 * its own name.
 */
export type WorkflowOptions = {
  threadId: string;
  maxRounds: number;
  signal?: AbortSignal;
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  forkFrom?: { threadId: string; steps: number; origin?: string };
  attempts?: Attempts;
  blobs?: Blobs;
  journal?: Journal;
  worktrees?: string;
  /** Answers each role in place of its execution: see {@link answersFromFixture}. */
  recorded?: RecordedAnswers;
  shared?: SharedValues;
  /** What the threads of the storage root spend under its limits. */
  spending?: RootSpending;
  pause?: Pause;
  [option: string]: unknown;
};

/** The folder of a thread: every host of ours gives one. Without one nothing can be run in it. */
export const folderOf = ({ cwd }: { cwd?: string }): string => cwd as string;

/**
 * What a `run` with the property {@link drainsOnPause} gets as `options.pause`. A pause does not stop it at its next
 * yield: while one `isWanted` it begins nothing, yields what is in flight, and then awaits that the pause is `over`.
 */
export type Pause = { isWanted: () => boolean; over: () => Promise<void> };

/** A `run` with this property finishes what is in flight before it pauses. */
export const drainsOnPause: unique symbol = Symbol.for("uncaged.workflow.drainsOnPause") as never;

/**
 * What the n-th execution of a role, from 1, has recorded; `member` is which of several of its name in a `step.all`.
 *
 * @throws WorkflowError `NO_RECORDED_ANSWER`.
 */
export type RecordedAnswers = (role: string, n: number, member?: number | null) => RoleOutput;

/** The bundle contract: `run` is an async generator function, or returns a generator; never a promise. */
export type WorkflowFn<Value = unknown> = (
  input: ThreadInput,
  options: WorkflowOptions,
) => AsyncGenerator<RoleOutput, WorkflowResult<Value>>;

/** The type of `result.value` of a workflow's threads: `ResultOf<typeof run>`. */
export type ResultOf<Run extends WorkflowFn> = Run extends WorkflowFn<infer Value> ? Value : never;

/** A JSON Schema, as data. */
export type JsonSchema = boolean | { [keyword: string]: unknown };

/**
 * How a bundle describes itself. `maxRounds` is that of its threads when their starter does not say, 100
 * without it. `input` is what `params` must be: a form asks for it, and other params are refused. A step of a role that
 * is not in `roles`, or whose meta does not fit the role's schema, gets a warning; with `strict` it fails the thread, and
 * with `strict: false` steps are not checked.
 */
export type Descriptor = {
  description: string;
  maxRounds?: number;
  strict?: boolean;
  input?: JsonSchema;
  roles: Record<string, { description: string; schema: JsonSchema }>;
};

/** The module that a bundle is, once loaded. */
export type Bundle = { run: WorkflowFn; descriptor: Descriptor };

/** The role of what a moderator sees before any step: the prompt. */
export const START = "__start__" as const;
/** What a moderator returns to stop; also the role of a log's last record. */
export const END = "__end__" as const;
/** The role of a step that asks for an answer from outside. */
export const WAIT = "__wait__" as const;
/** The role of the step that is the answer. */
export const INPUT = "__input__" as const;

/** The role of the first message that a moderator sees. */
export type START = typeof START;
/** The role of the last record of a log; a moderator returns it to end the thread. */
export type END = typeof END;

/**
 * Meta of a `__wait__` step. `for` names what is waited for; an answer's value must fit `schema`;
 * after `expiresAt` (milliseconds since the epoch) no answer is taken and the thread continues with
 * `onTimeout` as the value. With `sleep` nothing is asked: the thread continues at `expiresAt`. An answer
 * that brings a token must bring this `token`. Further keys are kept.
 */
export type WaitMeta = {
  for: string;
  schema?: JsonSchema;
  expiresAt?: number;
  sleep?: unknown;
  onTimeout?: unknown;
  token?: unknown;
  [key: string]: unknown;
};

/** Where an answer can come from: a command, the console, a plan's channel, another program, a client of MCP. */
export const answererKinds = ["terminal", "console", "channel", "api", "mcp"] as const;

/** Who gave an answer. `name` is a login name, or the sender's id in a channel; absent where nothing is known. */
export type AnsweredBy = { kind: (typeof answererKinds)[number]; name?: string };

/**
 * Meta of an `__input__` step. `value` is the answer as JSON when it is JSON; `timedOut` is true when
 * nobody answered in time, and with `sleep` nobody was asked; `requestId` is the sender's own, by which the same answer is known again;
 * `by` is who gave the answer, as the program that took it says. Further keys are kept.
 */
export type InputMeta = {
  for?: string;
  by?: AnsweredBy;
  value?: unknown;
  timedOut?: boolean;
  sleep?: unknown;
  requestId?: unknown;
  [key: string]: unknown;
};
