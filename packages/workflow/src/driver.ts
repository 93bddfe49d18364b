// Entry point 5: for hosts that drive threads elsewhere. What a claim on a thread is driven with, and the rules and
// readers of a storage root that such a host mirrors a part of.

// Driving
export { checkAnswerer } from "./local/answerer.ts";
export { markVariable } from "./system/worker-env.ts";
export { type Driving, engineFor } from "./worker/drive.ts";
export { describeOutcome, killed } from "./engine/ending.ts";
export { answerStep, type GivenAnswer, isOver, notWaiting, timeoutStep } from "./engine/answer.ts";
export type { JournalPlace } from "./worker/journal.ts";
export { recordEvents, SharedEnv } from "./worker/context.ts";
export {
  capturePrints,
  catchCrashes,
  type Driven,
  guardExit,
} from "./worker/isolate.ts";
export { refusalLines, refuse, waiting } from "./worker/refusal.ts";
export {
  checkParams,
  compileForAnswer,
  createLog,
  optionsOf,
  otherBundle,
  roundsOf,
} from "./worker/create.ts";
export { hashCollision } from "./registry/versions.ts";
export { checkGiven, forkRequest, newThreadId } from "./local/start.ts";
export { type InputRequest, type StartRequest, withValue } from "./control/control.ts";
export type { CollectOptions, VerifyOptions } from "./host/host.ts";
export { StackMapper } from "./bundle/stack.ts";
export { withStrictSchemas } from "./bundle/role-schemas.ts";
export { type LoadedBundle, loadBundle, readBundle } from "./bundle/store.ts";
export { sha256 } from "./storage/sha256.ts";
export { type Mask, maskOf } from "./contract/mask.ts";

// Records
export { textOf } from "./log/record.ts";
export { sealed } from "./log/sum.ts";
export { InfoLog } from "./log/info.ts";
export { readLog, type ThreadLog } from "./log/log.ts";
export { wakesAt } from "./contract/wait.ts";
export { ulidTime } from "./contract/base32.ts";
export { endedError, movedError, movesNotRunning } from "./thread/thread.ts";
export { notFound, pickThread, requestIdOf, takenIds } from "./thread/selection.ts";

// Reading a thread
export type { Drivers } from "./local/live.ts";
export { readView } from "./local/threads.ts";
export { readAttempts, readLines, readValue } from "./local/events.ts";
export { Marks, observe } from "./local/observe.ts";
export { cursorOf, positionOf } from "./log/reader.ts";
export { hasWords, searchText, wordsOf } from "./local/search.ts";
export { type Selector, selectorsIn } from "./local/list.ts";

// Workflows
export { resolve, type Resolved, hashesOf, workflowOf } from "./registry/versions.ts";
export { serialiseRegistry } from "./registry/registry.ts";
export { readRegistry } from "./registry/read.ts";
export { takeWorkflow } from "./local/move.ts";

// The storage root
export { blobIdOf, blobsNamedIn, isBlobId, readBlob } from "./storage/blobs.ts";
export { type Location, noteLocation } from "./storage/location.ts";
export { createRoot, openRoot } from "./storage/root.ts";
export { sharedIn } from "./storage/shared-values.ts";
export { worktreesDir } from "./storage/worktrees.ts";
export {
  blobsDir,
  bundlePath,
  checkThreadId,
  dataPath,
  descriptorPath,
  infoPath,
  isThreadId,
  mapPath,
  namesIn,
  registryPath,
  type Root,
  typesPath,
  valuesPath,
} from "./storage/paths.ts";
