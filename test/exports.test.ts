import { describe, expect, test } from "bun:test";
import { door, listOf } from "./door.ts";
import type { Node } from "./source.ts";

/*
 * What each door of the packages offers, types included. A change here is a change of the
 * public face: `bun test -u test/exports.test.ts test/exports-steps.test.ts` writes the new lists.
 */
describe("the exported names", () => {
  test("of @uncaged/workflow", () => {
    expect(listOf("workflow/src/index")).toMatchInlineSnapshot(`
      "END
      INPUT
      START
      Scheduler
      StepFailure
      WAIT
      WorkflowError
      concurrently
      createRoleModerator
      durable
      eventsChannel
      isWorkflowError
      listNames
      maskOf
      recorded
      truncated
      type AgentFn
      type Answer
      type Bundle
      type ConcurrencyOptions
      type Descriptor
      type DurableProgram
      type DurableStep
      type ErrorKind
      type EventType
      type InputMeta
      type JsonSchema
      type Mask
      type Moderator
      type Role
      type RoleMeta
      type RoleOutput
      type RoleResult
      type RoleStep
      type RunEvent
      type StartStep
      type Step
      type StepCall
      type StepContext
      type StepFn
      type Steps
      type TaskFailure
      type ThreadContext
      type ThreadInput
      type TruncatedValue
      type Turn
      type WaitMeta
      type WaitRequest
      type WaitResult
      type WorkflowDefinition
      type WorkflowEvent
      type WorkflowFn
      type WorkflowOptions
      type WorkflowResult
      waitFor"
    `);
  });

  test("of @uncaged/workflow/host", () => {
    expect(listOf("workflow/src/host")).toMatchInlineSnapshot(`
      "Families
      LogReader
      StoreWatch
      WorkflowError
      addWorkflow
      allThreads
      badPosition
      beginning
      buildSource
      changeOf
      checkWorkflowName
      collectGarbage
      createRoot
      defaultMaxRounds
      descriptorOf
      diffThreads
      endedStatus
      findThread
      follow
      followThread
      forkThread
      historyOf
      isMoving
      isWorkflowError
      keptSteps
      killThread
      listLive
      listThreads
      listWorkers
      listWorkflows
      maxJsonDepth
      mostRounds
      newestPosition
      openLocalHost
      openRoot
      pageThreads
      parsePosition
      pauseThread
      positionAt
      prewarmWorker
      readFailure
      readInfo
      readInfoPage
      readNewestEvents
      readRow
      readServerAddress
      readThread
      readValue
      readVersionText
      removeThread
      removeWorkflow
      resolveWorkflow
      resumeThread
      retryOptions
      retryThread
      rollbackWorkflow
      rootVariable
      settled
      show
      showPosition
      showVersion
      showWorkflow
      startThread
      statusOf
      statuses
      storeBundle
      threadDiff
      threadIdPattern
      threadJson
      toErrorRecord
      type Added
      type BuiltBundle
      type ControlResult
      type Descriptor
      type Durability
      type EndRecord
      type Environment
      type ErrorKind
      type ErrorRecord
      type EventRecord
      type FailureRecord
      type FollowItem
      type FollowOptions
      type ForkFrom
      type ForkOptions
      type Forked
      type Garbage
      type Host
      type HostChange
      type InfoPage
      type InfoPageOptions
      type InfoRecord
      type JsonSchema
      type Keep
      type KillOptions
      type Killed
      type LiveRow
      type LocalHostOptions
      type LogFacts
      type LogItem
      type LogLine
      type LogOptions
      type ObserveOptions
      type Observed
      type Position
      type Prewarmed
      type Problem
      type RegisterOptions
      type Relative
      type ResumeOptions
      type RolledBack
      type Root
      type RootOptions
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
      type WorkerState
      type WorkflowRow
      type WorkflowView
      verifyStore
      waitThread
      writeServerAddress"
    `);
  });

  test("of @uncaged/workflow/testing", () => {
    expect(listOf("workflow/src/testing")).toMatchInlineSnapshot(`
      "findReplays
      replayEverywhere
      runThread
      scriptedAgent
      settableClock
      type ReplayFinding
      type RunThreadOptions
      type Script
      type ScriptedAgent
      type TestAnswer
      type TestClock
      type ThreadOutcome"
    `);
  });
});

describe("the exported names of the agents", () => {
  test("of @uncaged/workflow-agents", () => {
    expect(listOf("workflow-agents/src/index")).toMatchInlineSnapshot(`
      "LLMError
      addUsage
      anthropicAgent
      anthropicProvider
      claudeCode
      codex
      commandAgent
      currentCall
      cursor
      describe
      editFile
      listFiles
      llmAdapter
      mcpTools
      modelExtractor
      noUsage
      openaiAgent
      openaiProvider
      paid
      placeInside
      publish
      readClaudeCode
      readFile
      readInside
      role
      roleSteps
      runCommand
      runTool
      scriptedAgent
      search
      tool
      toolRegistry
      type Access
      type AgentMeta
      type AgentRole
      type Answer
      type AnthropicAccess
      type AnthropicOptions
      type Block
      type Call
      type CommandOptions
      type Effort
      type Extractor
      type Format
      type LLMAdapter
      type LLMAdapterOptions
      type LLMAnswer
      type LLMCallbacks
      type LLMErrorCode
      type LLMErrorType
      type LLMParams
      type LLMProvider
      type LLMRequest
      type LLMResult
      type LLMSink
      type LineReader
      type McpOptions
      type Message
      type ModelExtractorOptions
      type ModelOptions
      type OpenAIOptions
      type Paid
      type Place
      type PresetOptions
      type ReadyTool
      type RoleEntry
      type RoleSpec
      type RoleSteps
      type RunCommandOptions
      type RunToolContext
      type Said
      type Script
      type Spending
      type Spent
      type Stop
      type Surroundings
      type Template
      type Thinking
      type Tool
      type ToolAnswer
      type ToolContext
      type ToolDefinition
      type ToolLimits
      type ToolOutcome
      type ToolRegistry
      type ToolResultBlock
      type ToolRunner
      type ToolRuntime
      type ToolSource
      type ToolUse
      type ToolUseBlock
      type Usage
      type WriteOptions
      withCall
      writeFile
      writeInside"
    `);
  });

  test("of @uncaged/workflow-agents/ledger", () => {
    expect(listOf("workflow-agents/src/ledger")).toMatchInlineSnapshot(`
      "addTally
      costOf
      ledgerOf
      ledgerRecords
      noTally
      priceOf
      tallyOf
      type Ledger
      type LedgerEnd
      type LedgerLog
      type LedgerRecord
      type LedgerStep
      type Price
      type Prices
      type Rates
      type StepTally
      type Tally
      type Usage
      usageOf"
    `);
  });
});

test("a door only hands on what folders export, each by its name", () => {
  const core = ["index", "host", "testing"].map((name) => `workflow/src/${name}`);
  const agents = ["index", "ledger"].map((name) => `workflow-agents/src/${name}`);
  const steps = ["index", "adapters", "source"].map((name) => `workflow-steps/src/${name}`);
  const strays = [...core, ...agents, ...steps].flatMap((name) =>
    door(name)
      .nodes.filter(({ type }) => type === "Program")
      .flatMap(({ body }) => body as Node[])
      .filter(({ type, source }) => type !== "ExportNamedDeclaration" || source === null)
      .map(({ type }) => `${name}.ts holds an ${type}`),
  );
  expect(strays).toEqual([]);
});
