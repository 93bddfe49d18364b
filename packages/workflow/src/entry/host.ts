/**
 * The interface through which programs start, follow and control threads, and its implementation on this machine.
 *
 * @module
 */

// Errors
export { WorkflowError, isWorkflowError, toErrorRecord } from "../contract/error.ts";
export type { ErrorKind, ErrorRecord } from "../contract/error.ts";

// The host
export {
  type Added,
  type ControlResult,
  type Forked,
  type ForkOptions,
  type Garbage,
  type Host,
  type HostChange,
  type LogLine,
  type LogOptions,
  type Observed,
  type ObserveOptions,
  type Problem,
  type RegisterOptions,
  type Relative,
  type RolledBack,
  type StartedThread,
  type StartOptions,
  type ThreadCommand,
  type ThreadFilter,
  type ThreadPage,
  type ThreadQuery,
  type Verification,
  type VersionRow,
  type VersionView,
  type WakeOptions,
  type WorkerState,
  type WorkflowRow,
  type WorkflowView,
  type TrashedThread,
  type Recovered,
  type RecoverOptions,
  type Woken,
} from "../host/host.ts";
export { openLocalHost } from "../local/host.ts";
export { openThreads, type StopAll, stopAll, type StoppedAll } from "../host/stop-all.ts";

// Stores
export { Memory } from "../store/memory.ts";
export { openMemoryHost, openStoreHost, type StoreHostOptions } from "../embedded/store-host.ts";
export { memoryStore } from "../store/memory-store.ts";
export { storeContract, type StoreRule } from "../store/store-contract.ts";
export type { StoreUnderTest } from "../store/store-trial.ts";
export {
  type Appended,
  type Claim,
  type ClaimOptions,
  type Cut,
  FencedError,
  type ListQuery,
  type LogName,
  type LogPage,
  type NewThread,
  type RegistryState,
  type RunnableOptions,
  type StoreChange,
  type IndexEntry,
  type StoredBundle,
  type ThreadIndex,
  type ThreadInfo,
  type ThreadState,
  type ThreadStore,
} from "../store/store.ts";

// Computed from records
export {
  follow,
  replayedFailure,
  retryOptions,
  settled,
  type ThreadDiff,
  threadDiff,
} from "../host/rules.ts";
export { fixtureOf } from "../host/fixture.ts";
export type { Fixture } from "../contract/fixture.ts";

// Projects and sources
export { findProject, type Project } from "../project/project.ts";
export { type BuiltBundle, buildSource } from "../local/workflows.ts";
export type { SourceKind, SourceModule } from "../bundle/build.ts";
export type { Environment } from "../system/port.ts";

export type {
  DayFigures,
  HourFigures,
  ThreadSummary,
  VersionFailure,
  VersionFigures,
} from "../record/figures.ts";
export type { NamedFigures } from "../record/work-figures.ts";

// Records
export type { Durability } from "../control/control.ts";
export type { AnsweredBy, Descriptor, JsonSchema, Step } from "../contract/contract.ts";
export type { EndRecord, FailureRecord, InfoRecord, StartRecord } from "../record/record.ts";
export type { Attempt } from "../record/attempt.ts";
export type { EventRecord } from "../contract/event.ts";
export type { Keep } from "../record/selection.ts";
export {
  type ForkFrom,
  type LiveRow,
  type Status,
  statuses,
  failureOf,
  type ThreadFailure,
  type ThreadJson,
  threadJson,
  type ThreadPlace,
  type ThreadRef,
  type ThreadResult,
  type ThreadRow,
  type ThreadSpending,
  type ThreadStatus,
  type ThreadView,
} from "../record/thread.ts";
