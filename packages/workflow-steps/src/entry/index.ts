/**
 * Step workflows, run in a program or built into a bundle.
 *
 * @module
 */

// Run
export { type CustomHandler, Engine, type EngineOptions } from "../engine/engine.ts";
export {
  ChildExecutionContext,
  ExecutionContext,
  type WorkflowSnapshot,
} from "../context/context.ts";
export type { ResumeReply, ResumeRequest } from "../context/run.ts";
export type { Checkpoint, Resumable } from "../state/checkpoint.ts";
export { applyOutputMapping, emitEvent } from "../interpreter/output.ts";
export { ParallelError, ParallelExecutor, RunError } from "../interpreter/parallel.ts";

// Bundle
export { type BundleOptions, interpret, stepsBundle } from "../bundle/bundle.ts";
export { fold } from "../bundle/thread.ts";
export type { EngineEvent } from "../context/run.ts";
export type { RunResult } from "../interpreter/drive.ts";
export type { Commit } from "../state/state.ts";

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
} from "../document/document.ts";
export { type RunEvent, RunEventType } from "../document/event.ts";
export type { RegistryDocument, StepDocument, WorkflowDocument } from "../document/format.ts";

// Registry
export {
  parseParamDeclaration,
  parseServiceSignature,
  parseVariableDeclaration,
  Registry,
} from "../document/registry.ts";

// Expressions
export { ExpressionEvaluator } from "../expression/expression.ts";
export { toBool, toFloat } from "../expression/value.ts";

// Adapters
export type {
  Adapters,
  ApiAdapter,
  ApiRequest,
  ComponentAdapter,
  DocAdapter,
  FileAdapter,
  LLMAdapter,
  LLMCallbacks,
  LLMParams,
  LLMResult,
  LLMTool,
  ServiceAdapter,
  ToolAdapter,
  ToolRuntime,
} from "../adapter/adapter.ts";
export { buildErrorMap, LLMError } from "../adapter/error.ts";
