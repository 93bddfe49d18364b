/**
 * Parts for thread stores on other machines, and for workers that drive their threads. Only packages of the same
 * version may import them, because any version may change them. Needs Bun.
 */

// The store
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
  type IndexEntry,
  type ThreadIndex,
  type ThreadInfo,
  type ThreadState,
  type ThreadStore,
} from "../store/store.ts";
export { DiskStore } from "../disk/store.ts";
export { ChangeQueue } from "../store/change-queue.ts";
export { badCursor, recordTooLong, storeClosed } from "../store/errors.ts";

// Records
export { firstSum, nextSum, sealed, sumText } from "../record/sum.ts";
export { LogFold } from "../record/fold.ts";
export { valueOf } from "../record/lines.ts";
export { movedError } from "../record/errors.ts";
export { isThreadId } from "../contract/names.ts";
export { blobIdOf } from "../record/blob-names.ts";
export { toBase32, ulidTime } from "../contract/base32.ts";
export { rowAt, shownOf } from "../record/row.ts";
export {
  isLimited,
  isSelected,
  limitsOf,
  matches,
  type RowFilter,
  type Selector,
  startsWithin,
} from "../record/filter.ts";
export { HourSums, VersionSums } from "../record/figures.ts";
export { subjectOf } from "../record/subject.ts";
export type { WorkFigures } from "../record/work-figures.ts";
export { readIndexed } from "../local/threads/row.ts";
export type { IndexedThread } from "../local/threads/thread-index.ts";
export { timesAt, waitedIn } from "../record/times.ts";
export { pickThread, requestIdOf } from "../record/selection.ts";
export { SearchText, wordsOf } from "../record/search.ts";
export { readLog, type ThreadLog } from "../disk/log.ts";
export { cursorOf, positionOf } from "../record/reader.ts";
export type { ThreadRef } from "../record/thread.ts";

// A new thread
export { newThread } from "../worker/create.ts";
export { checkSameThread, checkStart, forkRequest } from "../local/threads/start.ts";
export { startOf } from "../local/threads/view.ts";
export type { InputRequest, StartRequest } from "../control/control.ts";

// Driving a claimed thread
export { type Driving, engineFor, loadDriven, rootJournal, rootPlace } from "../worker/drive.ts";
export { InfoLog } from "../worker/info.ts";
export { recordEvents } from "../worker/context.ts";
export { type Driven, isolate } from "../worker/isolate.ts";
export { markVariable } from "../system/worker-env.ts";

// A host over a store, and its workers
export { openStoreHost, type StoreHostOptions } from "../embedded/store-host.ts";
export {
  driveStore,
  type StoreWorker,
  type StoreWorkerOptions,
} from "../embedded/store-worker.ts";

// Records made outside of an engine, and refusals
export { killed } from "../engine/ending.ts";
export { type GivenAnswer, timeoutStep } from "../engine/answer.ts";
export { answerAt } from "../worker/fork-answer.ts";
export { refusalLines, refusals } from "../worker/refusal.ts";

// A storage root with copies of threads and bundles
export { type Root, registryPath, type ThreadFiles, threadFiles } from "../disk/paths.ts";
export { openRoot } from "../disk/root.ts";
export { noteLocation } from "../disk/location.ts";
export type { Location } from "../control/control.ts";
export type { Drivers } from "../local/workers/live.ts";
export { type CopyHost, copyHost } from "../local/host.ts";
export { type LoadedBundle, readBundle } from "../bundle/store.ts";
export { readRegistry } from "../registry/read.ts";
export type { Workflow as RegisteredWorkflow } from "../registry/registry.ts";
export { resolve, type Resolved } from "../registry/versions.ts";
export { selectorsIn } from "../local/threads/list.ts";
export type { CollectOptions, VerifyOptions } from "../host/host.ts";
