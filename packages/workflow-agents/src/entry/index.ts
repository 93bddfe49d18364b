/**
 * Agents, models and tools, for authors of roles. A bundle includes only the parts that it uses.
 *
 * @module
 */

// Roles
export { asTool, type RoleToolOptions } from "../role/as-tool.ts";
export { type RoleSteps, roleSteps } from "../role/durable.ts";
export {
  type AgentMeta,
  type AgentRole,
  describe,
  role,
  type RoleEntry,
  type RoleSpec,
} from "../role/role.ts";
export { handoff, type HandoffRoles } from "../role/handoff.ts";
export type { Limits } from "../ledger/raise.ts";
export { fallback, type FallbackOptions } from "../role/fallback.ts";
export type { CallRetry, FailedCall } from "../run/retry.ts";

// Extraction
export type { Extractor } from "../extract/extract.ts";
export { modelExtractor, type ModelExtractorOptions } from "../extract/model.ts";

// Agents
export { anthropicAgent, type AnthropicOptions } from "../anthropic/anthropic.ts";
export {
  type OpenAIAccess,
  openaiAgent,
  type OpenAIOptions,
  openaiProvider,
} from "../openai/openai.ts";
export { claudeCode } from "../command/claude-code.ts";
export { codex } from "../command/codex.ts";
export { commandAgent, type CommandOptions, type PresetOptions } from "../command/command.ts";
export type { Template } from "../command/template.ts";
export { cursor } from "../command/cursor.ts";
export type { LineReader, AgentOutput } from "../command/reader.ts";
export { type Script, type ScriptedAnswer, scriptedAgent } from "../scripted/scripted.ts";
export {
  type ModelScript,
  type ScriptedCall,
  scriptedProvider,
  type ScriptedTurn,
} from "../scripted/provider.ts";

// Models
export { type AnthropicAccess, anthropicProvider } from "../anthropic/anthropic.ts";
export { anthropicModels, type Models, openaiModels } from "../models/models.ts";
export { modelAgent, type ModelOptions } from "../llm/agent.ts";
export type { ContextOptions } from "../llm/compact.ts";
export type { SeenSteps } from "../llm/history.ts";
export { ProviderError, type ProviderErrorCode, type ProviderErrorType } from "../llm/error.ts";
export type {
  Block,
  Effort,
  Format,
  HostedCall,
  HostedTool,
  Message,
  ModelAnswer,
  ModelProvider,
  ModelRequest,
  ModelSink,
  Stop,
  Surroundings,
  Thinking,
  ToolResult,
  ToolUse,
} from "../llm/provider.ts";
export type { Access } from "../llm/access.ts";

// Pictures and documents
export { file, image, type Part, type PartOptions, type PartSource } from "../content/part.ts";

// Tools
export type { Approval, Approve, NeededApproval } from "../tools/approval.ts";
export type { McpOptions } from "../mcp/options.ts";
export { type McpServer, mcpTools } from "../mcp/mcp.ts";
export { editFile, readFile, writeFile } from "../tools/file-tools.ts";
export { undoEdit } from "../tools/undo.ts";
export { toolRegistry } from "../tools/registry.ts";
export { runCommand, type RunCommandOptions } from "../tools/run-command.ts";
export { type RunToolContext, runTool, type ToolOutcome } from "../tools/run.ts";
export { listFiles, search } from "../tools/search.ts";
export {
  type ReadyTool,
  type Tool,
  tool,
  type ToolAnswer,
  type ToolContext,
  type ToolDefinition,
  type ToolLimits,
  type ToolRegistry,
  type ToolRunner,
  type ToolExecution,
  type ToolSource,
} from "../tools/tools.ts";

// Worktrees
export {
  commitOf,
  type MergeMeta,
  type MergeRole,
  worktree,
  type Worktree,
  type WorktreeOptions,
  type WorktreeRole,
} from "../worktree/worktree.ts";

// Runs
export { currentRun, type RoleRun, type Spent, withRun } from "../run/run.ts";
