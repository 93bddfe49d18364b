import type { Attempt } from "../record/attempt.ts";
import type { PrepareOptions } from "../bundle/prepare.ts";
import type { Descriptor, Step } from "../contract/contract.ts";
import type { ErrorRecord } from "../contract/error.ts";
import type { EventRecord, Orphan } from "../contract/event.ts";
import type { Controlled, Durability, InputRequest, StepEdit } from "../control/control.ts";
import type { EndRecord, InfoRecord, StartRecord } from "../record/record.ts";
import type { Version } from "../registry/registry.ts";
import type { Resolved } from "../registry/versions.ts";
import type { Environment } from "../system/port.ts";
import type { Keep } from "../record/selection.ts";
import type {
  ForkFrom,
  LiveRow,
  Status,
  ThreadRef,
  ThreadRow,
  ThreadStatus,
  ThreadView,
} from "../record/thread.ts";

/**
 * What workflows are registered with and threads run on: the storage root of this machine
 * ({@link openLocalHost}), or another place. Everything that it gives and takes is a plain record; what can
 * be computed from records is a function beside it. It throws a `WorkflowError` for what a user can act on.
 */
export interface Host {
  /** Where it keeps what it has: a folder's path. */
  readonly root: string;
  /** The longest record that a thread's log takes, in bytes. */
  readonly maxRecordBytes: number;

  // Workflows

  /** Checks a bundle, or builds it from a source, stores it and makes it the name's current version. */
  register(name: string, file: string, options?: RegisterOptions): Promise<Added>;
  /** Checks and stores a bundle as {@link register} does; no name points to it. */
  store(file: string, options?: PrepareOptions): Promise<{ hash: string }>;
  /** What is run by a text: a name, `name@hash`, a hash or its unique prefix. */
  resolve(workflow: string): Promise<Resolved>;
  workflows(): Promise<WorkflowRow[]>;
  workflow(name: string): Promise<WorkflowView>;
  /** All versions of a workflow, the one registered last first. */
  history(name: string): Promise<VersionRow[]>;
  /** Moves a name to the version registered before its current one, or to the named one. */
  rollback(name: string, version?: string): Promise<RolledBack>;
  /** Removes a name and its history; its threads stay. */
  unregister(name: string): Promise<{ name: string }>;
  version(workflow: string): Promise<VersionView>;
  /** The text of a version's bundle; with `file`, of one of the files that it was built from. */
  source(workflow: string, file?: string): Promise<string>;
  /** Which of these roles have changed from the first version to the second, by the files that define them. */
  changedRoles(
    versions: readonly [before: string, after: string],
    roles: readonly string[],
  ): Promise<string[]>;
  /** The descriptor of a stored bundle; null when it can't be read. */
  descriptor(hash: string): Promise<Descriptor | null>;

  // Threads

  /** Starts a thread and returns when its start record is durable. */
  start(options: StartOptions): Promise<StartedThread>;
  /** The thread that a text selects: its id, a unique prefix or suffix of it, or `@last`. */
  find(text: string): Promise<ThreadRef>;
  /** A page of threads, newest first. */
  threads(query?: ThreadQuery): Promise<ThreadPage>;
  /** The threads that live workers drive, oldest first. */
  live(): Promise<LiveRow[]>;
  /** A thread's row in the list; null when it has been removed. */
  row(ref: ThreadRef): Promise<ThreadRow | null>;
  read(ref: ThreadRef): Promise<ThreadView>;
  /** The threads that this one comes from, and all of their forks, oldest first, itself included. */
  family(ref: ThreadRef): Promise<Relative[]>;
  /**
   * The attempts of a thread, in the order in which they ended; those of copied steps with what happened
   * in them as long as the thread that a fork was made of is there.
   */
  attempts(ref: ThreadRef): Promise<readonly Attempt[]>;
  /** A thread's debug log. */
  log(ref: ThreadRef, options?: LogOptions): AsyncIterable<LogLine>;
  /** The JSON of a value that was too long for its event, by the event's `at`. */
  value(ref: ThreadRef, at: number): Promise<string>;
  /**
   * A thread's log, events and status as one ordered stream, behind a cursor or from the start, and on as
   * it grows. It ends behind the end record, when the log is corrupt, and when the thread is removed.
   */
  observe(ref: ThreadRef, cursor?: string, options?: ObserveOptions): AsyncGenerator<Observed>;
  control<Command extends ThreadCommand>(
    ref: ThreadRef,
    command: Command,
  ): Promise<ControlResult<Command>>;
  /** Starts a thread whose log begins with a copy of another's steps. */
  fork(ref: ThreadRef, options: ForkOptions): Promise<Forked>;
  /** Removes a thread's logs; one that has not ended only with `force`. */
  remove(ref: ThreadRef, options?: { force?: boolean }): Promise<{ threadId: string }>;
  /** What changes among all threads and workflows, until `signal` is aborted. */
  changes(signal: AbortSignal): AsyncGenerator<HostChange>;

  /**
   * Wakes the threads that are due: those that sleep, and those that waited for an answer which did not come in
   * time. Each is woken once, whoever asks. Where nothing is due it costs next to nothing.
   */
  wake(options: WakeOptions): Promise<Woken>;

  // Upkeep

  /** Reads everything that is stored, changes nothing, and names each violation. */
  verify(options?: VerifyOptions): Promise<Verification>;
  /** Takes away what nothing needs. */
  collect(options?: CollectOptions): Promise<Garbage>;
  /** @throws WorkflowError `NO_LOCKS` where none can run. */
  workers(): Promise<WorkerState[]>;
  close(): Promise<void>;
}

/** Options of registering a workflow. */
export type RegisterOptions = PrepareOptions & {
  /** Registers under the name's own name for development, `<name>@dev`, which keeps no history. */
  dev?: boolean;
  /** The hash that must be the current version, null for a name that must be new; else `VERSION_CONFLICT`. */
  expected?: string | null;
};

/** What `add --json` prints. `unchanged` is true when it was the current version already. */
export type Added = { name: string; hash: string; unchanged: boolean };

/** The result of a rollback: the hash that is current now, and the one before. */
export type RolledBack = { name: string; hash: string; previous: string };

/** A line of `list --json`. `versions` counts the current one too. */
export type WorkflowRow = {
  name: string;
  hash: string;
  timestamp: number;
  description: string;
  versions: number;
};

/** A whole workflow, as `show --json` prints it. `descriptor` is null when its file can't be read. */
export type WorkflowView = {
  name: string;
  hash: string;
  timestamp: number;
  history: Version[];
  descriptor: Descriptor | null;
};

/**
 * A line of `history --json`. `sha256` is that of the bundle, null where none is recorded yet; `threads` is how many threads
 * the version has run.
 */
export type VersionRow = {
  hash: string;
  sha256: string | null;
  timestamp: number;
  current: boolean;
  threads: number;
};

/** One version of a workflow. `workflow` is its name, or the hash when it was asked for by that. */
export type VersionView = {
  workflow: string;
  hash: string;
  bytes: number;
  descriptor: Descriptor | null;
  /** The names of the files that it was built from, where its source map holds their text. */
  sources: string[];
  /** Which of them is data that a module was made of, as a graph or a step workflow; null where none is. */
  document: string | null;
};

/** What starts a thread. `env` reaches its workflow and is never written. */
export type StartOptions = {
  /** A name, `name@hash`, or a hash. */
  workflow: string;
  /** What the thread names as its workflow, without it the name that `workflow` has. */
  name?: string;
  prompt?: string;
  /** What the bundle's descriptor has when it is left out, else 100. */
  maxRounds?: number;
  params?: unknown;
  /** Reaches `run` in its second argument, beside threadId and the rest. */
  options?: Record<string, unknown>;
  /** A ULID of the caller's, the start's idempotency key: a second start with it starts nothing. */
  threadId?: string;
  /** An `__input__` step to begin with. */
  input?: InputRequest;
  cwd: string;
  env: Environment;
  durability?: Durability;
};

/** The result of a start: the new thread's id, and the workflow and version that it runs. */
export type StartedThread = { threadId: string; workflow: string; hash: string };

/** What the woken threads continue with; `env` reaches their workflows and is never written. */
export type WakeOptions = { env: Environment; durability?: Durability };

/**
 * The threads that this call has woken; those that are due and could not be, which are tried again in a minute;
 * and when the next is due, in milliseconds since the epoch, null when none sleeps.
 */
export type Woken = {
  woken: ThreadRef[];
  failed: (ThreadRef & { error: ErrorRecord })[];
  next: number | null;
};

/** How a fork differs from the thread that it comes from; what is not given stays as it was. */
export type ForkOptions = {
  env: Environment;
  /** Which steps it keeps; without it all but the last. */
  keep?: Keep;
  prompt?: string;
  maxRounds?: number;
  /** Added to the options that the other thread was started with. */
  options?: Record<string, unknown>;
  /** Replaces parts of the last kept step. */
  edit?: StepEdit;
  /** Another version or workflow to go on with: a name, `name@hash`, or a hash. */
  on?: string;
  /** What the new thread names as its workflow, without it the name that `on` has. */
  name?: string;
  /** An `__input__` step to put after the kept ones. */
  input?: InputRequest;
  /** Whether the step in progress is done anew, without its recorded turns and tool results. Then `keep` is all steps by default. */
  anew?: boolean | undefined;
  threadId?: string;
  durability?: Durability;
};

/** The result of a fork: the new thread, and the thread and steps that it continues. */
export type Forked = StartedThread & { forkFrom: ForkFrom };

/** A thread among those that it was forked from, and those that were forked from them. */
export type Relative = Omit<ThreadRow, "updatedAt"> & { forkFrom: ForkFrom | null };

/** Which threads are listed. `workflow` is a name, `name@hash`, a hash or a unique prefix of one. */
export type ThreadQuery = {
  /** 20 when it is left out. */
  limit?: number;
  offset?: number;
  /** Only those that come behind the thread with this id, whether it is still there or not. */
  before?: string;
  status?: Status | readonly Status[];
  workflow?: string;
  /** Only those with each of these words in their id, name, roles, prompt, params, question, result or error. */
  search?: string;
  /** False: `next` is not wanted, and no log is read to find it. */
  paged?: boolean;
};

/**
 * A page of threads. `total` counts those of all pages; null where only reading their logs would show.
 * `next` is the `before` of the next page, null when none comes; threads that are created or removed in
 * between do not move it.
 */
export type ThreadPage = { rows: ThreadRow[]; total: number | null; next: string | null };

/** Selects lines of a thread's debug log. */
export type LogOptions = {
  /** Begins behind the line with this position. */
  after?: number;
  /** Leaves out what is older, in milliseconds since the epoch. */
  since?: number;
  /** Only lines of these tags and events of these types: the others are not even parsed. */
  only?: readonly string[];
  /** Begins with the last so many lines. */
  tail?: number;
  /** The events alone, the newest first. */
  backward?: boolean;
  /** Goes on until the thread is no longer driven. */
  follow?: boolean;
  signal?: AbortSignal;
};

/** A line of a debug log, and the position behind it in bytes; of a backward reading 0. */
export type LogLine = { record: InfoRecord; position: number };

/** Options of `observe`. */
export type ObserveOptions = {
  signal?: AbortSignal;
  /** False: the events are left out. */
  events?: boolean;
  /** Ends at this cursor, or with what is there `now`. */
  until?: string;
};

/**
 * What an observer sees. `cursor` is durable: an observer that begins behind it, in another process too,
 * sees exactly what comes after. Each event comes before the step that it led to. Steps count from 1.
 */
export type Observed = { cursor: string } & (
  | { kind: "start"; start: StartRecord }
  | { kind: "event"; event: EventRecord & InfoRecord }
  | { kind: "step"; number: number; step: Step }
  | { kind: "status"; state: ThreadStatus }
  | { kind: "end"; end: EndRecord; state: ThreadStatus }
  | { kind: "removed" }
);

/**
 * What is done to a thread. An answer's `meta.requestId` is its idempotency key; `question` is the number of the
 * `__wait__` step that it answers: where another one is open it is refused with `STALE_ANSWER`. `input.by` is who gave
 * it, as the caller knows; without it the record says `api`. A process that a worker has started is refused with
 * `ANSWER_FROM_STEP`.
 */
export type ThreadCommand =
  | { kind: "pause" }
  | { kind: "resume"; env: Environment; durability?: Durability }
  | {
      kind: "answer";
      input: InputRequest;
      question?: number;
      env: Environment;
      durability?: Durability;
    }
  /** `force` ends a worker that does not answer; its other threads are resumed with `env`. */
  | { kind: "kill"; force?: boolean; env?: Environment };

/**
 * What a command did; `resumed` names the other threads that a forced kill has resumed, `orphans` the processes that
 * a killed worker had left running, which are ended first.
 */
export type ControlResult<Command extends ThreadCommand> = Command["kind"] extends "kill"
  ? Controlled & { resumed: string[] }
  : Controlled;

/**
 * A change of a host: first `ready`, from which on nothing is missed; then a thread's row, new or with
 * another status or number of steps; a removal; that a name points elsewhere, came or went.
 */
export type HostChange =
  | { kind: "ready" }
  | { kind: "thread"; row: ThreadRow }
  | { kind: "removed"; threadId: string }
  | { kind: "workflows" };

/** A violation in what is stored: the file, where in it (the line from 1, the offset in bytes), and what. */
export type Problem = { path: string; line?: number; offset?: number; message: string };

/**
 * How many bundles and threads were read, and what is wrong with them. `withoutSums` has the ids of the threads
 * whose logs are of a version that wrote no checksums: not all damage to them can be found.
 */
export type Verification = {
  checked: { bundles: number; threads: number };
  problems: Problem[];
  withoutSums: string[];
};

export type VerifyOptions = {
  /** Called after each bundle and each thread. */
  onProgress?: (checked: Verification["checked"]) => void;
};

export type CollectOptions = {
  /** Only reports what would be collected. */
  dryRun?: boolean;
  now?: number;
};

/**
 * What was collected: the hashes of the `removed` bundles; how many were `kept`; the `bytes` of the
 * removed bundles and of the `leftovers`, the files of crashes; and the `emptied` folders of trash.
 */
export type Garbage = {
  removed: string[];
  kept: number;
  bytes: number;
  leftovers: string[];
  emptied: string[];
};

/**
 * The worker behind a control socket: it `answers`, is `silent` (it has the connection and does not
 * answer: a role may block it), is `stuck` (its process `pid` runs and no longer listens), or is `gone` and has left its
 * socket behind, and perhaps `orphans`: processes that it had started.
 */
export type WorkerState = {
  hash: string;
  state: "answers" | "silent" | "stuck" | "gone";
  pid: number | null;
  orphans: Orphan[];
};
