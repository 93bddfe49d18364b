import type { Attempt } from "../record/attempt.ts";
import type { PrepareOptions } from "../bundle/prepare.ts";
import type { Descriptor, Step } from "../contract/contract.ts";
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
  ThreadRef,
  ThreadRow,
  ThreadStatus,
  ThreadView,
} from "../record/thread.ts";
import type { ThreadSummary, VersionFigures } from "../record/figures.ts";
import type { ThreadFilter, ThreadPage, ThreadQuery } from "./query.ts";
import type { RecoverOptions, Recovered, TrashedThread, WakeOptions, Woken } from "./woken.ts";

export type { ThreadFilter, ThreadPage, ThreadQuery } from "./query.ts";
export type { RecoverOptions, Recovered, TrashedThread, WakeOptions, Woken } from "./woken.ts";

/**
 * Stores workflows and runs threads: the storage root of this machine ({@link openLocalHost}), or another host.
 * Arguments and results are plain records. Throws a `WorkflowError` for each error that a user can act on.
 */
export interface Host {
  /** The path of the folder that holds the host's data. */
  readonly root: string;
  /** The maximum size of a record in a thread's log, in bytes. */
  readonly maxRecordBytes: number;

  // Workflows

  /** Checks a bundle, or builds it from a source, stores it and makes it the name's current version. */
  register(name: string, file: string, options?: RegisterOptions): Promise<Added>;
  /** Checks and stores a bundle as {@link register} does, without a name. */
  store(file: string, options?: PrepareOptions): Promise<{ hash: string }>;
  /** Finds the workflow and version for a text: a name, `name@hash`, a hash or its unique prefix. */
  resolve(workflow: string): Promise<Resolved>;
  /** The registered workflows, sorted by name. */
  workflows(): Promise<WorkflowRow[]>;
  /** A workflow by its name. @throws WorkflowError `WORKFLOW_NOT_FOUND`. */
  workflow(name: string): Promise<WorkflowView>;
  /** All versions of a workflow, latest registration first, with the figures of their threads. */
  history(name: string): Promise<VersionRow[]>;
  /** Moves a name back to the version registered before its current one, or to `version`. */
  rollback(name: string, version?: string): Promise<RolledBack>;
  /** Removes a name and its history; its threads stay. */
  unregister(name: string): Promise<{ name: string }>;
  /** A version of a workflow, by a text that {@link resolve} accepts. */
  version(workflow: string): Promise<VersionView>;
  /** The text of a version's bundle, or of the source `file` that it was built from. */
  source(workflow: string, file?: string): Promise<string>;
  /** The roles whose defining files differ between the two versions. */
  changedRoles(
    versions: readonly [before: string, after: string],
    roles: readonly string[],
  ): Promise<string[]>;
  /** The descriptor of a stored bundle; null when it can't be read. */
  descriptor(hash: string): Promise<Descriptor | null>;

  // Threads

  /** Starts a thread and returns when its start record is durable. */
  start(options: StartOptions): Promise<StartedThread>;
  /** Finds a thread by its id, a unique prefix or suffix of its id, or `@last`. */
  find(text: string): Promise<ThreadRef>;
  /** A page of threads, newest first. */
  threads(query?: ThreadQuery): Promise<ThreadPage>;
  /** The figures of the selected threads by the hour of their start, oldest first; only hours with threads. */
  summary(query?: ThreadFilter): Promise<ThreadSummary>;
  /** The threads that live workers drive, oldest first. */
  live(): Promise<LiveRow[]>;
  /** A thread's row in the list; null when it has been removed. */
  row(ref: ThreadRef): Promise<ThreadRow | null>;
  /** A whole thread: its status, steps and times. */
  read(ref: ThreadRef): Promise<ThreadView>;
  /** The ancestors of a thread and all of their forks, including the thread itself, oldest first. */
  family(ref: ThreadRef): Promise<Relative[]>;
  /**
   * The attempts of a thread, in the order of their ends. Attempts of copied steps include their events while the
   * fork's source thread exists.
   */
  attempts(ref: ThreadRef): Promise<readonly Attempt[]>;
  /** A thread's debug log. */
  log(ref: ThreadRef, options?: LogOptions): AsyncIterable<LogLine>;
  /** The JSON of a value that was too long for its event, found by the event's `at`. */
  value(ref: ThreadRef, at: number): Promise<string>;
  /**
   * Streams a thread's log, events and status in order, after a cursor or from the start, and follows new records.
   * Ends after the end record, when the log is corrupt, or when the thread is removed.
   */
  observe(ref: ThreadRef, cursor?: string, options?: ObserveOptions): AsyncGenerator<Observed>;
  /** Pauses, resumes, answers or kills a thread. */
  control<Command extends ThreadCommand>(
    ref: ThreadRef,
    command: Command,
  ): Promise<ControlResult<Command>>;
  /** Starts a thread whose log begins with copied steps of another thread. */
  fork(ref: ThreadRef, options: ForkOptions): Promise<Forked>;
  /** Removes a thread; `force` also removes an unfinished thread. `inTrash`: it can be restored for a while. */
  remove(
    ref: ThreadRef,
    options?: { force?: boolean },
  ): Promise<{ threadId: string; inTrash?: true }>;
  /** The threads in the trash, last removed first; empty on hosts without a trash. */
  trash(): Promise<TrashedThread[]>;
  /** Restores a thread from the trash, by its id or a suffix of the id. */
  restore(threadId: string): Promise<ThreadRef>;
  /** Streams the changes of all threads and workflows until `signal` is aborted. */
  changes(signal: AbortSignal): AsyncGenerator<HostChange>;

  /**
   * Wakes the threads whose sleep or wait for an answer has expired. Concurrent calls wake each thread once. A call
   * without due threads does not read logs.
   */
  wake(options: WakeOptions): Promise<Woken>;
  /**
   * Resumes interrupted threads without a user's request, if they ran here until recently and their whole start
   * environment is available. Hosts that continue their threads themselves, or run in one process, do not resume
   * threads.
   */
  recover(options: RecoverOptions): Promise<Recovered>;

  // Upkeep

  /** Checks all stored data without changing it, and reports each problem. */
  verify(options?: VerifyOptions): Promise<Verification>;
  /** Deletes unused data. */
  collect(options?: CollectOptions): Promise<Garbage>;
  /** Lists the workers of this host. @throws WorkflowError `NO_LOCKS` on a system where workers can't run. */
  workers(): Promise<WorkerState[]>;
  /** Releases the resources of this object. Threads continue. */
  close(): Promise<void>;
}

/** Options of registering a workflow. */
export type RegisterOptions = PrepareOptions & {
  /** Registers under the development name `<name>@dev`, which does not have a history. */
  dev?: boolean;
  /** The required current version, or null for a new name. Any other current version is a `VERSION_CONFLICT`. */
  expected?: string | null;
};

/** The output of `add --json`. `unchanged` is true when the bundle was the current version already. */
export type Added = { name: string; hash: string; unchanged: boolean };

/** The result of a rollback: the current hash and the previous hash. */
export type RolledBack = { name: string; hash: string; previous: string };

/** A line of `list --json`. `versions` includes the current version. */
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
 * A line of `history --json`. `sha256` is the SHA-256 of the bundle, null until it is recorded; `threads` is the number
 * of threads of the version.
 */
export type VersionRow = VersionFigures & {
  hash: string;
  sha256: string | null;
  timestamp: number;
  current: boolean;
  threads: number;
};

/** One version of a workflow. `workflow` is its name, or the hash when the version was found by hash. */
export type VersionView = {
  workflow: string;
  hash: string;
  bytes: number;
  descriptor: Descriptor | null;
  /** The names of its source files, if its source map holds their text. */
  sources: string[];
  /** The source file that is a document, such as an agent graph or a step workflow; null if there is none. */
  document: string | null;
};

/** Options for starting a thread. `env` is passed to the workflow and never written. */
export type StartOptions = {
  /** A name, `name@hash`, or a hash. */
  workflow: string;
  /** The workflow name shown for the thread; by default the name in `workflow`. */
  name?: string;
  prompt?: string;
  /** By default the limit of the bundle's descriptor, or 100. */
  maxRounds?: number;
  params?: unknown;
  /** Added to the second argument of `run`. */
  options?: Record<string, unknown>;
  /** A ULID chosen by the caller as idempotency key: a second start with the same id does not start a thread. */
  threadId?: string;
  /** An initial `__input__` step, which begins a rerun. */
  input?: InputRequest;
  /** The W3C trace context of the caller; its trace then contains the thread. An invalid context is ignored. */
  traceparent?: string;
  cwd: string;
  env: Environment;
  durability?: Durability;
};

/** The result of a start: the new thread's id, and the workflow and version that it runs. */
export type StartedThread = { threadId: string; workflow: string; hash: string };

/** The differences between a fork and its source thread. Missing options keep the source's values. */
export type ForkOptions = {
  env: Environment;
  /** The steps to keep; by default all but the last step. */
  keep?: Keep;
  prompt?: string;
  params?: unknown;
  maxRounds?: number;
  /** Added to the source thread's options. */
  options?: Record<string, unknown>;
  /** Replaces parts of the last kept step. */
  edit?: StepEdit;
  /** Another version or workflow to run: a name, `name@hash`, or a hash. */
  on?: string;
  /** The workflow name shown for the new thread; by default the name in `on`. */
  name?: string;
  /** An answer to the last kept step, which must be a question. */
  input?: InputRequest;
  /**
   * The `__input__` step that begins a rerun of a step workflow after the kept steps. It does not answer a question.
   */
  rerun?: InputRequest;
  /**
   * Repeats the step in progress without its recorded turns and tool results. By default `keep` then selects all steps.
   */
  anew?: boolean | undefined;
  /** As in {@link StartOptions}; a fork does not inherit it. */
  traceparent?: string;
  threadId?: string;
  durability?: Durability;
};

/** The result of a fork: the new thread, its source thread and the copied steps. */
export type Forked = StartedThread & { forkFrom: ForkFrom };

/** A thread of a family: threads connected by forks. */
export type Relative = Omit<ThreadRow, "updatedAt"> & { forkFrom: ForkFrom | null };

/** Selects lines of a thread's debug log. */
export type LogOptions = {
  /** Starts after the line with this position. */
  after?: number;
  /** Skips lines before this time, in milliseconds since the epoch. */
  since?: number;
  /** Reads only lines with these tags and events of these types. Other lines are not parsed. */
  only?: readonly string[];
  /** Starts with this number of last lines. */
  tail?: number;
  /** Reads only events, newest first. */
  backward?: boolean;
  /** Follows new lines until the thread is no longer driven. */
  follow?: boolean;
  signal?: AbortSignal;
};

/** A line of a debug log, and the byte position after it (0 when reading backward). */
export type LogLine = { record: InfoRecord; position: number };

/** Options of `observe`. */
export type ObserveOptions = {
  signal?: AbortSignal;
  /** False leaves out the events. */
  events?: boolean;
  /** Ends at this cursor, or at the current end for `now`. */
  until?: string;
};

/**
 * An item that an observer receives. `cursor` is durable: an observer that starts after it, also in another process,
 * receives exactly the items after it. Events come before the step that they belong to. Steps count from 1.
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
 * A command to a thread. An answer's `meta.requestId` is its idempotency key. `question` is the number of the
 * `__wait__` step that it answers; the answer is refused with `STALE_ANSWER` when another question is open. `input.by`
 * names the author of the answer, `api` by default. Processes started by a worker are refused with `ANSWER_FROM_STEP`.
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
  /** `force` ends an unresponsive worker; its other threads are resumed with `env`. */
  | { kind: "kill"; force?: boolean; env?: Environment };

/**
 * The result of a command. `resumed` lists the other threads that a forced kill resumed. `orphans` lists the processes
 * that outlived a killed worker; they are ended first.
 */
export type ControlResult<Command extends ThreadCommand> = Command["kind"] extends "kill"
  ? Controlled & { resumed: string[] }
  : Controlled;

/**
 * A change on a host. `ready` comes first: all later changes are reported. `thread` reports a new thread, or a change
 * of a thread's status, steps, place, spending or errors; `removed` a removed thread; `workflows` a name that was
 * added, moved or removed.
 */
export type HostChange =
  | { kind: "ready" }
  | { kind: "thread"; row: ThreadRow }
  | { kind: "removed"; threadId: string }
  | { kind: "workflows" };

/** A problem in the stored data: file, line (from 1), offset (in bytes) and message. */
export type Problem = { path: string; line?: number; offset?: number; message: string };

/**
 * The number of bundles and threads that were read, and their problems. `withoutSums` lists the threads whose logs
 * were written by a version without checksums: some damage to them can't be detected.
 */
export type Verification = {
  checked: { bundles: number; threads: number };
  problems: Problem[];
  withoutSums: string[];
};

/** Options of {@link Host.verify}. */
export type VerifyOptions = {
  /** Called after each bundle and each thread. */
  onProgress?: (checked: Verification["checked"]) => void;
};

/** Options of {@link Host.collect}. */
export type CollectOptions = {
  /** Reports the garbage without deleting it. */
  dryRun?: boolean;
  /** Also deletes threads that were removed more than seven days ago. */
  trash?: boolean;
  now?: number;
};

/**
 * The collected garbage: hashes of the `removed` bundles, number of `kept` bundles, `leftovers` (files left by
 * crashes), total `bytes` of removed bundles and leftovers, `emptied` folders of trash, and `problems` of files that
 * remain until the next collection.
 */
export type Garbage = {
  removed: string[];
  kept: number;
  bytes: number;
  leftovers: string[];
  emptied: string[];
  problems: Problem[];
};

/**
 * The worker of a control socket. `silent`: it accepts connections but does not respond, for example while a role
 * blocks it. `stuck`: its process `pid` runs but does not listen. `gone`: it ended without removing its socket;
 * processes that it started may still run (`orphans`).
 */
export type WorkerState = {
  hash: string;
  state: "answers" | "silent" | "stuck" | "gone";
  pid: number | null;
  orphans: Orphan[];
};
