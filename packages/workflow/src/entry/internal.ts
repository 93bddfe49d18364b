/**
 * Parts that the host shares with the command line, the server, the evals, the service of plans and the worker of a
 * cluster. Only packages of the same version may import them, because any version may change them. Needs Bun.
 *
 * @module
 */

// Errors
export { foundProblems, messageOf } from "../contract/error.ts";
export { diskError } from "../disk/disk-error.ts";
export { isRecord, show } from "../contract/show.ts";
export { readTraceparent, type TraceParent } from "../contract/traceparent.ts";
export { withoutPasswords } from "../contract/url.ts";

// Threads
export { checkAnswerer } from "../local/threads/answerer.ts";
export { newThreadId } from "../local/threads/start.ts";
export { fileDiff, type WorktreeDiff } from "../local/threads/file-diff.ts";
export { answerHint, endedStatus, goesOn, isMoving } from "../record/thread.ts";
export { notKept } from "../host/errors.ts";
export { movedError } from "../record/errors.ts";
export { firstLine } from "../record/subject.ts";
export { keptSteps } from "../record/selection.ts";
export { checkFixture } from "../contract/fixture.ts";
export { drivenToEnd } from "../host/driven.ts";
export { recordedInput } from "../host/fixture.ts";
export { isQuestion } from "../contract/wait.ts";
export type { TestAnswer } from "../control/test-answer.ts";
export {
  checkThreadId,
  checkWorkflowName,
  isThreadId,
  threadIdPattern,
} from "../contract/names.ts";
export { defaultMaxRounds, mostRounds } from "../control/control.ts";
export { durationMs } from "../contract/duration.ts";
export { exactJson, losslessJson, roundedIn } from "../contract/exact.ts";
export { maxJsonDepth } from "../contract/json.ts";

// Moving threads and workflows to another host
export {
  type Arrival,
  type Copied,
  copyBundle,
  copyWorkflow,
  type Moved,
  type MoveOptions,
  moveThread,
  type MovingHost,
  type Presence,
} from "../host/move.ts";
export { movingRoot } from "../local/upkeep/move.ts";
export type { HostIdentity } from "../control/control.ts";

// The protocol of remote hosts
export {
  protocolVersion,
  type RemoteArguments,
  type RemoteEvent,
  type RemoteGreeting,
  type RemoteReply,
  type RemoteStreams,
} from "../remote/protocol.ts";

// Bundles
export { buildBundle } from "../bundle/build.ts";
export { StackMapper } from "../bundle/stack.ts";
export { errorOf } from "../engine/failure.ts";
export { hashOf } from "../bundle/hash.ts";
export { bundleHash, lockDevelopment, preparedBundle } from "../local/workflows.ts";
export { makeTemporary } from "../bundle/child.ts";
export { HeldFolder } from "../bundle/held-folder.ts";
export { temporaryProblem } from "../bundle/errors.ts";

// Runs under faults
export { type ChaosDivergence, type ChaosResult, runChaos } from "../chaos/chaos.ts";
export type { SourceFile } from "../chaos/positions.ts";

// Checks of a version on recorded threads
export {
  type CheckedThread,
  checkJson,
  checkVersion,
  mostRecent,
  type VersionCheck,
  type VersionCheckJson,
} from "../upgrade/check.ts";
export { copyThread, copyVersion } from "../upgrade/copy.ts";

// Files and locks
export {
  appendLines,
  makeFolder,
  readOwnFile,
  writeFileAtomic,
  writeFileLater,
} from "../disk/files.ts";
export { type Lock, takeLock, waitForLock } from "../disk/lock.ts";
export { hostVariable, rootVariable } from "../disk/root.ts";

// Processes
export { terminalUser } from "../system/terminal-user.ts";
export { threadEnv } from "../local/workers/surroundings.ts";
export { isAnythingDue } from "../disk/due.ts";
export { isTrashedThread } from "../disk/trash.ts";
export { keepAwake } from "../local/workers/keep-awake.ts";
export {
  type ServerAddress,
  readServerAddress,
  writeServerAddress,
} from "../local/workers/server-address.ts";

// Attestations
export { attestThread } from "../local/upkeep/attest.ts";
export { type Check, checkStatement } from "../local/upkeep/attested.ts";
export { type ReadStatement, readStatement, type Statement } from "../local/upkeep/attestation.ts";
