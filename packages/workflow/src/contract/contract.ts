import type { Attempts } from "./attempt.ts";
import type { Journal } from "./journal.ts";
import type { SharedValues } from "./shared-values.ts";
import type { RootSpending } from "./spending.ts";

/**
 * Output of one role, from one `yield`. A workflow that opens attempts sets `attempt` to the id of the attempt that
 * produced it; the engine adds an attempt to every other step.
 */
export type RoleOutput = {
  role: string;
  content: string;
  meta: Record<string, unknown>;
  attempt?: string;
};

/**
 * Return value of the generator. A `returnCode` of 0 means success. `summary` is for people, `value` is JSON for the
 * workflow's callers.
 */
export type WorkflowResult<Value = unknown> = {
  returnCode: number;
  summary: string;
  value?: Value;
};

/** A role output in a thread's log. `timestamp` is in milliseconds since the epoch. */
export type Step = RoleOutput & { timestamp: number };

/**
 * Input to a workflow. `steps` is empty for a new thread. After a resume or a fork it contains all committed steps, and
 * the workflow continues after these steps. `params` is the structured input, if any.
 */
export type ThreadInput = {
  prompt: string;
  steps: (RoleOutput & { timestamp?: number })[];
  params?: unknown;
};

/**
 * Blobs beside a thread's log, each under its content hash. They are deleted with the thread. A fork gets the blobs
 * that its copied steps name.
 */
export type Blobs = {
  /** Stores bytes. Resolves with their id once they are durable, or with null when the thread has too many blobs. */
  put(bytes: Uint8Array): Promise<string | null>;
  /** Returns the blob with an id; null when it is missing. */
  get(id: string): Promise<Uint8Array | null>;
  /** Lists the ids of all blobs, unordered. */
  ids(): Promise<string[]>;
};

/**
 * The second argument of `run`.
 *
 * `signal` is aborted when the thread is killed and when its worker shuts down. `cwd` and `env` come from the command
 * that started the thread. Every host of this package sets `cwd`; the type is optional for callers that implement only
 * the bare contract. One process runs many threads, so a workflow must use `cwd` and `env`, never `process.cwd()` or
 * `process.env`. `forkFrom` has the parent thread of a fork, the number of copied steps in `steps`, and in `origin` the
 * root thread if the parent is itself a fork. `attempts` assigns events to concurrent roles. `blobs` stores bytes
 * beside the thread's log, `journal` records the work of an uncommitted step, `shared` has values that all threads of
 * the machine share, `pause` is for a `run` with the property {@link drainsOnPause}. `worktrees` is the folder of the
 * thread's git worktrees; the workflow creates it, and it is deleted with the thread. All other keys are options from
 * the start of the thread.
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
  /** Answers each role instead of executing it: see `answersFromFixture`. */
  recorded?: RecordedAnswers;
  shared?: SharedValues;
  /** Spending of all threads of the storage root, under its limits. */
  spending?: RootSpending;
  pause?: Pause;
  [option: string]: unknown;
};

/** Returns the working folder of a thread. Every host of this package sets it. */
export const folderOf = ({ cwd }: { cwd?: string }): string => cwd as string;

/**
 * Pause requests for a `run` with the property {@link drainsOnPause}. The engine does not stop such a `run` at its next
 * yield. While `isWanted` returns true, the `run` must not start new work; it yields the results of the work in flight,
 * and then awaits `over`.
 */
export type Pause = { isWanted: () => boolean; over: () => Promise<void> };

/** Marks a `run` that finishes the work in flight before it pauses. */
export const drainsOnPause: unique symbol = Symbol.for("uncaged.workflow.drainsOnPause") as never;

/**
 * Returns the recorded output of the n-th execution of a role, from 1; null for a role that should run. `member` is the
 * index among outputs of the same role in a `step.all`.
 *
 * @throws WorkflowError `NO_RECORDED_ANSWER`.
 */
export type RecordedAnswers = (
  role: string,
  n: number,
  member?: number | null,
) => RoleOutput | null;

/** The type of a bundle's `run`: an async generator function, or a function that returns an async generator. */
export type WorkflowFn<Value = unknown> = (
  input: ThreadInput,
  options: WorkflowOptions,
) => AsyncGenerator<RoleOutput, WorkflowResult<Value>>;

/** The type of `result.value` of a workflow's threads: `ResultOf<typeof run>`. */
export type ResultOf<Run extends WorkflowFn> = Run extends WorkflowFn<infer Value> ? Value : never;

/** A JSON Schema, as data. */
export type JsonSchema = boolean | { [keyword: string]: unknown };

/**
 * A bundle's description of itself. `maxRounds` is the default limit of its threads (100 without it). `input` is the
 * schema of `params`: hosts make forms from it, and refuse params that do not fit. A step gets a warning when its role
 * is not in `roles` or its meta does not fit the role's schema. With `strict` such a step fails the thread; with
 * `strict: false` steps are not checked.
 */
export type Descriptor = {
  description: string;
  maxRounds?: number;
  strict?: boolean;
  input?: JsonSchema;
  roles: Record<string, { description: string; schema: JsonSchema }>;
};

/** A loaded bundle's module. */
export type Bundle = { run: WorkflowFn; descriptor: Descriptor };

/** Role of the prompt: the first message that a moderator sees. */
export const START = "__start__" as const;
/** Role of the last record of a log. A moderator returns it to end the thread. */
export const END = "__end__" as const;
/** Role of a step that asks a question or sleeps. */
export const WAIT = "__wait__" as const;
/** Role of the step after a `__wait__` step, with the answer. */
export const INPUT = "__input__" as const;

/** Role of the prompt: the first message that a moderator sees. */
export type START = typeof START;
/** Role of the last record of a log. A moderator returns it to end the thread. */
export type END = typeof END;

/**
 * Meta of a `__wait__` step. `for` names the expected answer; an answer's value must fit `schema`. After `expiresAt`
 * (milliseconds since the epoch) no answer is accepted and the thread continues with `onTimeout` as the value. With
 * `sleep` the step does not ask a question: the thread continues at `expiresAt`. An answer with a token must have this
 * `token`. Other keys are kept.
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

/** Sources of answers: a command, the console, a plan's channel, another program, an MCP client. */
export const answererKinds = ["terminal", "console", "channel", "api", "mcp"] as const;

/**
 * The person or program that answered. `name` is a login name, the sender's id in a channel, the name of a token, or an
 * MCP client's name; absent when unknown.
 */
export type AnsweredBy = { kind: (typeof answererKinds)[number]; name?: string };

/**
 * Meta of an `__input__` step. `value` is the answer, parsed when it is JSON. `timedOut` is true when no answer came in
 * time, and after a `sleep`. `requestId` is the sender's own id, which makes repeated requests idempotent. `by` is the
 * answerer, as reported by the program that received the answer. Other keys are kept.
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
