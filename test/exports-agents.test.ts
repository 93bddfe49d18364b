import { describe, expect, test } from "bun:test";
import { listOf } from "./entry-point.ts";

/* As `exports.test.ts`, of the entry points of agents. */
describe("the exported names of agents", () => {
  test("of @uncaged/workflow-agents", () => {
    expect(listOf("workflow-agents/src/index")).toMatchInlineSnapshot(`
      "ProviderError
      RedirectError
      anthropicAgent
      anthropicModels
      anthropicProvider
      asTool
      claudeCode
      codex
      commandAgent
      commitOf
      confinedPath
      converse
      currentRun
      cursor
      describe
      editFile
      fallback
      fetchWithinOrigin
      file
      handoff
      image
      inOwnAttempt
      listFiles
      mcpTools
      modelAgent
      modelExtractor
      namedTools
      openaiAgent
      openaiModels
      openaiProvider
      ownToolName
      paid
      publish
      readClaudeCode
      readConfined
      readFile
      role
      roleSteps
      runChild
      runCommand
      runTool
      scriptedAgent
      scriptedProvider
      search
      tool
      toolRegistry
      type Access
      type AgentMeta
      type AgentOutput
      type AgentRole
      type AnthropicAccess
      type AnthropicOptions
      type Approval
      type Approve
      type Block
      type CallRetry
      type ChildEnd
      type CommandOptions
      type ConfinedPath
      type ContextOptions
      type Conversation
      type Conversed
      type Effort
      type Extractor
      type FailedCall
      type FallbackOptions
      type Format
      type HandoffRoles
      type HostedCall
      type HostedTool
      type HttpInit
      type Limits
      type LineReader
      type McpOptions
      type McpServer
      type MergeMeta
      type MergeRole
      type Message
      type ModelAnswer
      type ModelCallbacks
      type ModelExtractorOptions
      type ModelOptions
      type ModelProvider
      type ModelRequest
      type ModelScript
      type ModelSink
      type Models
      type NeededApproval
      type OpenAIAccess
      type OpenAIOptions
      type Paid
      type Part
      type PartOptions
      type PartSource
      type PresetOptions
      type ProviderErrorCode
      type ProviderErrorType
      type ReadyTool
      type RoleEntry
      type RoleRun
      type RoleSpec
      type RoleSteps
      type RoleToolOptions
      type RunCommandOptions
      type RunToolContext
      type Script
      type ScriptedAnswer
      type ScriptedCall
      type ScriptedTurn
      type SeenSteps
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
      type ToolExecution
      type ToolLimits
      type ToolOutcome
      type ToolRegistry
      type ToolResult
      type ToolRunner
      type ToolSource
      type ToolUse
      type Toolbox
      type Worktree
      type WorktreeOptions
      type WorktreeRole
      type WriteOptions
      undoEdit
      withRun
      worktree
      writeConfined
      writeFile"
    `);
  });

  test("of @uncaged/workflow-agents/ledger", () => {
    expect(listOf("workflow-agents/src/ledger")).toMatchInlineSnapshot(`
      "addTally
      costOf
      ledgerOf
      ledgerOfSteps
      noTally
      priceOf
      pricedModels
      tallyOf
      type AttemptTally
      type Ledger
      type Price
      type Prices
      type Rates
      type Tally"
    `);
  });

  test("of @uncaged/workflow-agents/evals", () => {
    expect(listOf("workflow-agents/src/evals")).toMatchInlineSnapshot(`
      "EvalRecord
      changesOf
      listEvals
      outcomes
      parseFixture
      readDataset
      readEval
      runEval
      scoreOf
      summaryOf
      type CaseChange
      type CaseMean
      type CaseRun
      type Changes
      type EvalCase
      type EvalChange
      type EvalHead
      type EvalPlace
      type EvalSetup
      type EvalThread
      type EvalView
      type Judgement
      type Outcome
      type Score
      type Scorer
      type VersionRuns
      type VersionSummary"
    `);
  });
});
