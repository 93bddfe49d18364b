import { describe, expect, test } from "bun:test";
import { entryPoint, listOf } from "./entry-point.ts";
import type { Node } from "./source.ts";

/*
 * What each entry point of the packages exports, types included. A change here is a change of the
 * public API: `bun test -u test/exports.test.ts test/exports-steps.test.ts` writes the new lists.
 */
describe("the exported names", () => {
  test("of @uncaged/workflow", () => {
    expect(listOf("workflow/src/index")).toMatchInlineSnapshot(`
      "AttemptLog
      END
      INPUT
      Limit
      QuestionLog
      START
      Scheduler
      StepFailure
      WAIT
      WorkflowError
      addUsage
      answersFromFixture
      attemptIds
      attemptTime
      concurrently
      createRoleModerator
      decisionOf
      drainsOnPause
      durable
      durationHint
      durationMs
      errorParts
      eventsChannel
      foundProblems
      gitSettings
      isApproval
      isStepQuestion
      isWorkflowError
      knownEvent
      listNames
      maskOf
      messageOf
      nestedAttempts
      noAnswer
      noUsage
      openAttempt
      opensAttempts
      readAmount
      readEvent
      readUsage
      recorded
      sleepsUntil
      spendingOf
      stepKey
      totalTokens
      truncated
      type AgentFn
      type Answer
      type Answered
      type ApprovalDecision
      type AskOutside
      type Attempt
      type AttemptError
      type AttemptOutcome
      type AttemptSpec
      type AttemptTurn
      type Attempts
      type Blobs
      type Bundle
      type ConcurrencyOptions
      type Descriptor
      type DurableProgram
      type DurableStep
      type Duration
      type ErrorKind
      type ErrorPart
      type ErrorPosition
      type EventPayloads
      type EventRecord
      type EventType
      type Fixture
      type InputMeta
      type Journal
      type JournalEntry
      type JsonSchema
      type KnownEvent
      type Mask
      type Moderator
      type OpenAttempt
      type Orphan
      type Path
      type PathPart
      type Pause
      type Questions
      type RecordedAnswers
      type Retry
      type RetryPolicy
      type Role
      type RoleMeta
      type RoleOutput
      type RoleResult
      type RoleStep
      type SharedValues
      type StartStep
      type Step
      type StepCall
      type StepContext
      type StepFn
      type StepOptions
      type Steps
      type TaskFailure
      type ThreadContext
      type ThreadInput
      type TruncatedValue
      type Turn
      type Usage
      type WaitMeta
      type WaitRequest
      type WaitResult
      type WorkflowDefinition
      type WorkflowEvent
      type WorkflowFn
      type WorkflowOptions
      type WorkflowResult
      type WorktreeMeta
      usesAttempt
      waitFor
      worktreeIn
      worktreeRef"
    `);
  });

  test("of @uncaged/workflow/document", () => {
    expect(listOf("workflow/src/document")).toMatchInlineSnapshot(`
      "entryFiles
      locatedProblems
      nearestName
      readDocument
      type DocumentPath
      type DocumentProblem
      type Position
      type ReadDocument"
    `);
  });

  test("of @uncaged/workflow/host", () => {
    expect(listOf("workflow/src/host")).toMatchInlineSnapshot(`
      "AttemptLog
      WorkflowError
      attemptJson
      buildBundle
      buildSource
      bundleHash
      checkFixture
      checkWorkflowName
      copyBundle
      copyWorkflow
      defaultMaxRounds
      diskError
      endedStatus
      failureOf
      fileDiff
      findProject
      fixtureOf
      follow
      foundProblems
      goesOn
      hashOf
      hostVariable
      isAnythingDue
      isApproval
      isMoving
      isThreadId
      isWorkflowError
      keepAwake
      keptSteps
      knownEvent
      lockDevelopment
      makeFolder
      makeTemporary
      maxJsonDepth
      mostRounds
      moveThread
      movedError
      movingRoot
      newThreadId
      openLocalHost
      openRoot
      readEvent
      readServerAddress
      recordedInput
      retryOptions
      rootVariable
      settled
      show
      sleepsUntil
      statuses
      takeLock
      temporaryProblem
      threadDiff
      threadEnv
      threadIdPattern
      threadJson
      toErrorRecord
      type Added
      type Arrival
      type Attempt
      type AttemptError
      type AttemptTurn
      type BuiltBundle
      type ControlResult
      type Copied
      type Descriptor
      type Durability
      type EndRecord
      type Environment
      type ErrorKind
      type ErrorRecord
      type EventRecord
      type FailureRecord
      type FileChange
      type Fixture
      type ForkFrom
      type ForkOptions
      type Forked
      type Garbage
      type Host
      type HostChange
      type HostIdentity
      type InfoRecord
      type JsonSchema
      type Keep
      type KnownEvent
      type LiveRow
      type Lock
      type LogLine
      type LogOptions
      type MoveOptions
      type Moved
      type MovingHost
      type ObserveOptions
      type Observed
      type Presence
      type Problem
      type Project
      type RegisterOptions
      type Relative
      type Retry
      type RolledBack
      type ServerAddress
      type SourceKind
      type SourceModule
      type StartOptions
      type StartRecord
      type StartedThread
      type Status
      type Step
      type ThreadCommand
      type ThreadDiff
      type ThreadFailure
      type ThreadJson
      type ThreadPage
      type ThreadQuery
      type ThreadRef
      type ThreadResult
      type ThreadRow
      type ThreadStatus
      type ThreadView
      type Verification
      type VersionRow
      type VersionView
      type WakeOptions
      type Woken
      type WorkerState
      type WorkflowRow
      type WorkflowView
      type WorktreeDiff
      waitForLock
      writeFileAtomic
      writeFileLater
      writeServerAddress"
    `);
  });

  test("of @uncaged/workflow/testing", () => {
    expect(listOf("workflow/src/testing")).toMatchInlineSnapshot(`
      "hostContract
      replayEverywhere
      runThread
      settableClock
      type HostRule
      type HostUnderTest
      type RunThreadOptions
      type TestAnswer
      type TestClock
      type ThreadOutcome"
    `);
  });
});

test("an entry point only exports what its folders export, each by its name", () => {
  const core = ["index", "document", "host", "testing"].map((name) => `workflow/src/${name}`);
  const agents = ["index", "ledger", "evals"].map((name) => `workflow-agents/src/${name}`);
  const steps = ["index", "adapters", "source"].map((name) => `workflow-steps/src/${name}`);
  const strays = [...core, ...agents, ...steps].flatMap((name) =>
    entryPoint(name)
      .nodes.filter(({ type }) => type === "Program")
      .flatMap(({ body }) => body as Node[])
      .filter(({ type, source }) => type !== "ExportNamedDeclaration" || source === null)
      .map(({ type }) => `${name}.ts holds an ${type}`),
  );
  expect(strays).toEqual([]);
});
