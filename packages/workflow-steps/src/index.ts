// Entry point 1: step workflows, run in a program of one's own or built into a bundle.

// Run
export { type CustomHandler, Engine, type EngineOptions } from "./engine/engine.ts";
export {
  ChildExecutionContext,
  ExecutionContext,
  type WorkflowSnapshot,
} from "./context/context.ts";
export type { ResumeReply, ResumeRequest } from "./context/run.ts";
export { applyOutputMapping, emitEvent } from "./interpreter/output.ts";

// Interpreter
export type { EngineEvent } from "./context/run.ts";
export { interpret, type InterpretOptions, type StartingState } from "./bundle/bundle.ts";
export type { RunResult } from "./interpreter/drive.ts";
export { ParallelError, ParallelExecutor, RunError } from "./interpreter/parallel.ts";

// Bundle
export { type BundleOptions, stepsBundle } from "./bundle/bundle.ts";
export { documentsIn, type StepsDescriptor } from "./bundle/describe.ts";
export {
  documentsOf,
  planRerun,
  recordedCheckpoint,
  recordedSnapshot,
  type RecordedThread,
  recordedValues,
  type Rerun,
  rerunInput,
  type RerunRequest,
  type StepValues,
} from "./bundle/recorded.ts";
export { fold, type FoldedThread } from "./bundle/thread.ts";

// Checkpoints
export { stepRun, type StepRun, stepsBefore } from "./state/path.ts";
export type { Checkpoint, Resumable } from "./state/checkpoint.ts";
export type { Commit, Documents } from "./state/state.ts";

// Document
export {
  ExecutionStatus,
  getStepType,
  isV310OrLater,
  LoopMode,
  ParallelErrorStrategy,
  StepType,
  SUPPORTED_VERSIONS,
  WorkflowType,
  WriteMode,
} from "./document/document.ts";
export type { RegistryDocument, StepDocument, WorkflowDocument } from "./document/format.ts";

// Events
export { type RunEvent, RunEventType } from "./document/event.ts";

// Expressions
export { ExpressionEvaluator } from "./expression/expression.ts";
export { toBool, toFloat } from "./expression/value.ts";

// Registry
export {
  parseParamDeclaration,
  parseServiceSignature,
  parseVariableDeclaration,
  Registry,
} from "./registry/registry.ts";

// Adapters
export type {
  Adapters,
  ApiAdapter,
  ApiRequest,
  CallSurroundings,
  ComponentAdapter,
  DocAdapter,
  FileAdapter,
  FileMode,
  LLMAdapter,
  LLMCallbacks,
  LLMMessage,
  LLMParams,
  LLMResult,
  LLMTool,
  LLMUsage,
  OutputConfig,
  ServiceAdapter,
  ToolAdapter,
  ToolResultBlock,
  ToolRuntime,
  ToolUseBlock,
} from "./adapter/adapter.ts";
export { buildErrorMap, LLMError } from "./adapter/error.ts";
