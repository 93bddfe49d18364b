// Errors
export { WorkflowError, isWorkflowError, toErrorRecord } from "./contract/error.ts";
export type { ErrorKind, ErrorRecord } from "./contract/error.ts";

// The storage root
export { createRoot, openRoot, rootVariable } from "./storage/root.ts";
export { checkWorkflowName, threadIdPattern } from "./storage/names.ts";
export type { Root } from "./storage/paths.ts";

// Workflows
export type { SourceKind, SourceModule } from "./bundle/source-kind.ts";
export { type Added, type AddOptions, addWorkflow, storeBundle } from "./client/add.ts";
export { type BuiltBundle, buildSource } from "./client/build.ts";
export { type Garbage, collectGarbage } from "./client/gc.ts";
export type { Problem } from "./client/inventory.ts";
export { resolveWorkflow } from "./client/resolve.ts";
export {
  descriptorOf,
  historyOf,
  listWorkflows,
  removeWorkflow,
  rollbackWorkflow,
  showWorkflow,
} from "./client/workflows.ts";
export { type Verification, verifyStore } from "./client/verify.ts";
export { type VersionView, readVersionText, showVersion } from "./client/version.ts";
export type { VersionRow, WorkflowRow, WorkflowView } from "./client/workflows.ts";

// The server
export { StoreWatch } from "./client/store-watch.ts";
export { type ServerAddress, readServerAddress, writeServerAddress } from "./client/address.ts";
// Threads
export { type Ahead, startWorkerAhead } from "./client/ahead.ts";
export { type ResumeOptions, pauseThread, resumeThread } from "./client/control.ts";
export { type ThreadDiff, diffThreads } from "./client/diff.ts";
export { Families, type Relative } from "./client/family.ts";
export { type FollowItem, type FollowOptions, followThread, waitThread } from "./client/follow.ts";
export { type Forked, type ForkOptions, forkThread, retryThread } from "./client/fork.ts";
export {
  type InfoOptions,
  type InfoPage,
  type InfoPageOptions,
  readInfo,
  readInfoPage,
  readNewestEvents,
} from "./client/info.ts";
export { type Killed, type KillOptions, killThread } from "./client/kill.ts";
export { listLive } from "./client/live.ts";
export { changeOf, newestPosition, positionAt } from "./client/log-place.ts";
export { type LogItem, LogReader } from "./client/log-reader.ts";
export {
  badPosition,
  beginning,
  type Position,
  parsePosition,
  showPosition,
} from "./client/position.ts";
export { removeThread } from "./client/remove.ts";
export { type StartedThread, type StartOptions, startThread } from "./client/start.ts";
export {
  type ListOptions,
  type ThreadPage,
  listThreads,
  pageThreads,
  readRow,
} from "./client/list.ts";
export { allThreads, findThread, readFailure, readThread } from "./client/threads.ts";
export { readValue } from "./client/value.ts";
export { type WorkerState, listWorkers } from "./client/workers.ts";
export { type Durability, defaultMaxRounds, mostRounds } from "./control/control.ts";
export { maxJsonDepth } from "./contract/json.ts";
export { show } from "./contract/show.ts";
export type { Descriptor, JsonSchema, Step } from "./contract/contract.ts";
export type { InfoRecord } from "./thread-log/info.ts";
export type { EventRecord } from "./thread-log/newest.ts";
export type { FailureRecord } from "./thread-log/record.ts";
export { type Keep, keptSteps } from "./thread/fork.ts";
export {
  type LiveRow,
  type Status,
  statuses,
  type ThreadRef,
  type ThreadRow,
  type ThreadView,
} from "./thread/thread.ts";
export { type LogFacts, statusOf } from "./thread/status.ts";
