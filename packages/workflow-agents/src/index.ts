// Door 1: who plays a role in a workflow. What a bundle does not use stays out of it.

// Roles
export { describe } from "./role/describe.ts";
export { type RoleSteps, roleSteps } from "./role/durable.ts";
export {
  type AgentMeta,
  type AgentRole,
  role,
  type RoleEntry,
  type RoleSpec,
} from "./role/role.ts";
export { type Paid, paid } from "./role/paid.ts";
export type { Spending } from "./role/spending.ts";

// Extraction
export type { Extractor } from "./extract/extract.ts";
export { modelExtractor, type ModelExtractorOptions } from "./extract/model.ts";

// Agents
export { anthropicAgent, type AnthropicOptions } from "./anthropic/anthropic.ts";
export { openaiAgent, type OpenAIOptions } from "./openai/openai.ts";
export { claudeCode, readClaudeCode } from "./command/claude-code.ts";
export { codex } from "./command/codex.ts";
export { commandAgent, type CommandOptions } from "./command/command.ts";
export { cursor } from "./command/cursor.ts";
export type { PresetOptions } from "./command/preset.ts";
export type { LineReader, Said } from "./command/said.ts";
export type { Template } from "./command/template.ts";
export { type Answer, type Script, scriptedAgent } from "./scripted/scripted.ts";

// Models
export { type AnthropicAccess, anthropicProvider } from "./anthropic/provider.ts";
export { openaiProvider } from "./openai/provider.ts";
export {
  llmAdapter,
  type LLMAdapter,
  type LLMAdapterOptions,
  type LLMCallbacks,
  type LLMParams,
  type LLMResult,
} from "./llm/adapter.ts";
export type { ModelOptions } from "./llm/agent.ts";
export { LLMError, type LLMErrorCode, type LLMErrorType } from "./llm/error.ts";
export type { Block, Message, ToolResultBlock, ToolUseBlock } from "./llm/message.ts";
export type {
  Effort,
  Format,
  LLMAnswer,
  LLMProvider,
  LLMRequest,
  LLMSink,
  Stop,
  Surroundings,
  Thinking,
  ToolUse,
} from "./llm/provider.ts";
export type { Access } from "./llm/stream.ts";

// Tools
export { type McpOptions, mcpTools } from "./mcp/mcp.ts";
export { editFile } from "./tools/edit-file.ts";
export { listFiles } from "./tools/list-files.ts";
export { readFile } from "./tools/read-file.ts";
export { type ToolLimits, type ToolRegistry, toolRegistry } from "./tools/registry.ts";
export { runCommand, type RunCommandOptions } from "./tools/run-command.ts";
export { type RunToolContext, runTool, type ToolOutcome } from "./tools/run.ts";
export { search } from "./tools/search.ts";
export {
  type ReadyTool,
  type Tool,
  tool,
  type ToolAnswer,
  type ToolContext,
  type ToolDefinition,
  type ToolRunner,
  type ToolRuntime,
  type ToolSource,
} from "./tools/tools.ts";
export { writeFile } from "./tools/write-file.ts";

// Files
export { readInside, writeInside, type WriteOptions } from "./tools/file.ts";
export { type Place, placeInside } from "./tools/inside.ts";

// Calls
export { type Call, currentCall, publish, withCall } from "./call/call.ts";
export { addUsage, noUsage, type Spent, type Usage } from "./call/usage.ts";
