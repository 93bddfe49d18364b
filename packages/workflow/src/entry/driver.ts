// Entry point 5: for hosts that drive threads elsewhere. What a claim on a thread is driven with, and the rules and
// readers of a storage root that such a host mirrors a part of.

// Driving
export { checkAnswerer } from "../local/threads/answerer.ts";
export { markVariable } from "../system/worker-env.ts";
export { engineFor, outcomeTag } from "../worker/drive.ts";
export { describeOutcome, killed } from "../engine/ending.ts";
export { answerStep, type GivenAnswer, isOver, notWaiting, timeoutStep } from "../engine/answer.ts";
export { JournalReader } from "../worker/journal-reader.ts";
export { oldJournals } from "../worker/old-journal.ts";
export { recordEvents, SharedEnv } from "../worker/context.ts";
export {
  capturePrints,
  catchCrashes,
  type Driven,
  guardExit,
} from "../worker/isolate.ts";
export { refusalLines, refuse, waiting } from "../worker/refusal.ts";
export {
  checkParams,
  compileForAnswer,
  otherBundle,
  prepareThread,
  roundsOf,
} from "../worker/create.ts";
export { hashCollision } from "../registry/versions.ts";
export { checkGiven, forkRequest, newThreadId } from "../local/threads/start.ts";
export { type InputRequest, type StartRequest, withValue } from "../control/control.ts";
export type { CollectOptions, VerifyOptions } from "../host/host.ts";
export { StackMapper } from "../bundle/stack.ts";
export { withStrictSchemas } from "../bundle/role-schemas.ts";
export { type LoadedBundle, loadBundle, readBundle } from "../bundle/store.ts";
export { sha256 } from "../record/sha256.ts";
export { type Mask, maskOf } from "../contract/mask.ts";

// Records
export { type JournalHead, textOf } from "../record/record.ts";
export { firstSum, sealed } from "../record/sum.ts";
export { DiskStore } from "../disk/store.ts";
export { EventFile } from "../disk/event-file.ts";
export {
  type Appended,
  type Claim as StoreClaim,
  FencedError,
  type ThreadInfo,
  type ThreadState,
} from "../store/store.ts";
export { InfoLog } from "../worker/info.ts";
export { readLog, type ThreadLog } from "../disk/log.ts";
export { wakesAt } from "../contract/wait.ts";
export { ulidTime } from "../contract/base32.ts";
export { endedError, movedError, movesNotRunning } from "../record/thread.ts";
export { notFound, pickThread, requestIdOf, takenIds } from "../record/selection.ts";

// Reading a thread
export type { Drivers } from "../local/workers/live.ts";
export { readView } from "../local/threads/view.ts";
export { readAttempts, readLines, readValue } from "../local/threads/events.ts";
export { Marks, observe } from "../local/threads/observe.ts";
export { cursorOf, positionOf } from "../record/reader.ts";
export { searchText } from "../local/threads/search.ts";
export { hasWords, SearchText, wordsOf } from "../record/search.ts";
export { type Selector, selectorsIn } from "../local/threads/list.ts";

// Workflows
export { resolve, type Resolved, hashesOf, workflowOf } from "../registry/versions.ts";
export { serialiseRegistry } from "../registry/registry.ts";
export { readRegistry } from "../registry/read.ts";
export { takeWorkflow } from "../local/upkeep/move.ts";

// The storage root
export { readBlob } from "../disk/blobs.ts";
export { blobIdOf, blobsNamedIn, isBlobId } from "../record/blob-names.ts";
export { noteLocation } from "../disk/location.ts";
export { type Location } from "../control/control.ts";
export { createRoot, openRoot } from "../disk/root.ts";
export { sharedIn } from "../disk/shared-values.ts";
export { worktreesDir } from "../disk/worktrees.ts";
export {
  blobsDir,
  bundlePath,
  dataPath,
  descriptorPath,
  infoPath,
  journalPath,
  mapPath,
  namesIn,
  registryPath,
  type Root,
  typesPath,
  valuesPath,
} from "../disk/paths.ts";
export { checkThreadId, isThreadId } from "../contract/names.ts";
