// Errors
export { foundProblems, WorkflowError, isWorkflowError, toErrorRecord } from "../contract/error.ts";
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
  type ThreadPage,
  type ThreadQuery,
  type Verification,
  type VersionRow,
  type VersionView,
  type WakeOptions,
  type WorkerState,
  type WorkflowRow,
  type WorkflowView,
  type Woken,
} from "../host/host.ts";
export { checkAnswerer } from "../local/threads/answerer.ts";
export { terminalUser } from "../system/terminal-user.ts";
export { openLocalHost } from "../local/host.ts";
export {
  type Arrival,
  type Moved,
  type MoveOptions,
  type Copied,
  copyBundle,
  copyWorkflow,
  moveThread,
  type MovingHost,
  type Presence,
} from "../host/move.ts";
export { movingRoot } from "../local/upkeep/move.ts";
export type { HostIdentity } from "../control/control.ts";
export { newThreadId } from "../local/threads/start.ts";
export { threadEnv } from "../local/workers/surroundings.ts";

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
  type StoredBundle,
  type ThreadInfo,
  type ThreadState,
  type ThreadStore,
} from "../store/store.ts";

// Attempts
export type { Attempt, AttemptTurn, Retry } from "../record/attempt.ts";
export { AttemptLog } from "../record/attempt-log.ts";
export {
  type AttemptError,
  type EventRecord,
  type KnownEvent,
  knownEvent,
  readEvent,
} from "../contract/event.ts";

// What is computed from its records
export { attemptJson } from "../record/attempt.ts";
export { follow, retryOptions, settled, type ThreadDiff, threadDiff } from "../host/rules.ts";
export { type FileChange, fileDiff, type WorktreeDiff } from "../local/threads/file-diff.ts";
export { endedStatus, goesOn, isMoving, movedError } from "../record/thread.ts";

// Approvals
export { isApproval } from "../contract/decision.ts";

// Fixtures
export { checkFixture, type Fixture } from "../contract/fixture.ts";
export { fixtureOf, recordedInput } from "../host/fixture.ts";

// Projects and the storage root
export { findProject, type Project } from "../project/project.ts";
export type { Environment } from "../system/port.ts";
export { diskError } from "../disk/disk-error.ts";
export { makeFolder, writeFileAtomic, writeFileLater } from "../disk/files.ts";
export { hostVariable, openRoot, rootVariable } from "../disk/root.ts";
export { checkWorkflowName, isThreadId, threadIdPattern } from "../contract/names.ts";
export { type Lock, takeLock, waitForLock } from "../disk/lock.ts";

// Sources and the server
export { buildBundle } from "../bundle/build.ts";
export { hashOf } from "../bundle/hash.ts";
export type { SourceKind, SourceModule } from "../bundle/build.ts";
export { type BuiltBundle, buildSource, bundleHash, lockDevelopment } from "../local/workflows.ts";
export {
  type ServerAddress,
  readServerAddress,
  writeServerAddress,
} from "../local/workers/server-address.ts";

export { makeTemporary, temporaryProblem } from "../bundle/child.ts";

// Records
export { type Durability, defaultMaxRounds, mostRounds } from "../control/control.ts";
export { sleepsUntil } from "../contract/wait.ts";
export { isAnythingDue } from "../disk/due.ts";
export { keepAwake } from "../local/workers/keep-awake.ts";
export { maxJsonDepth } from "../contract/json.ts";
export { show } from "../contract/show.ts";
export type { AnsweredBy, Descriptor, JsonSchema, Step } from "../contract/contract.ts";
export type { EndRecord, FailureRecord, InfoRecord, StartRecord } from "../record/record.ts";
export { type Keep, keptSteps } from "../record/selection.ts";
export {
  type ForkFrom,
  type LiveRow,
  type Status,
  statuses,
  failureOf,
  type ThreadFailure,
  type ThreadJson,
  threadJson,
  type ThreadRef,
  type ThreadResult,
  type ThreadRow,
  type ThreadStatus,
  type ThreadView,
} from "../record/thread.ts";
