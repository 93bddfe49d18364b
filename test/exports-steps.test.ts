import { describe, expect, test } from "bun:test";
import { listOf } from "./entry-point.ts";

/* As `exports.test.ts`, of the step workflows. */
describe("the exported names of the step workflows", () => {
  test("of @uncaged/workflow-steps", () => {
    expect(listOf("workflow-steps/src/index")).toMatchInlineSnapshot(`
      "ChildExecutionContext
      Engine
      ExecutionContext
      ExecutionStatus
      ExpressionEvaluator
      LLMError
      LoopMode
      ParallelError
      ParallelErrorStrategy
      ParallelExecutor
      Registry
      RunError
      RunEventType
      SUPPORTED_VERSIONS
      StepType
      WorkflowType
      WriteMode
      applyOutputMapping
      buildErrorMap
      documentsIn
      documentsOf
      emitEvent
      fold
      getStepType
      interpret
      isV310OrLater
      parseParamDeclaration
      parseServiceSignature
      parseVariableDeclaration
      planRerun
      recordedCheckpoint
      recordedSnapshot
      recordedValues
      rerunInput
      stepRun
      stepsBefore
      stepsBundle
      toBool
      toFloat
      type Adapters
      type ApiAdapter
      type ApiRequest
      type BundleOptions
      type CallSurroundings
      type Checkpoint
      type Commit
      type ComponentAdapter
      type CustomHandler
      type DocAdapter
      type Documents
      type EngineEvent
      type EngineOptions
      type FileAdapter
      type FileMode
      type FoldedThread
      type InterpretOptions
      type LLMAdapter
      type LLMCallbacks
      type LLMMessage
      type LLMParams
      type LLMResult
      type LLMTool
      type LLMUsage
      type OutputConfig
      type RecordedThread
      type RegistryDocument
      type Rerun
      type RerunRequest
      type Resumable
      type ResumeReply
      type ResumeRequest
      type RunEvent
      type RunResult
      type ServiceAdapter
      type StartingState
      type StepDocument
      type StepRun
      type StepValues
      type StepsDescriptor
      type ToolAdapter
      type ToolResultBlock
      type ToolRuntime
      type ToolUseBlock
      type WorkflowDocument
      type WorkflowSnapshot"
    `);
  });

  test("of @uncaged/workflow-steps/adapters", () => {
    expect(listOf("workflow-steps/src/adapters")).toMatchInlineSnapshot(`
      "anthropicModels
      apiAdapter
      defaultAdapters
      docAdapter
      fileAdapter
      modelAdapter
      openaiModels
      stepTools
      toolAdapter
      type ApiAdapterOptions
      type DefaultAdapters
      type DocAdapterOptions
      type FileAdapterOptions
      type ModelAdapterOptions
      type Models
      type UnzipLimits"
    `);
  });

  test("of @uncaged/workflow-steps/source", () => {
    expect(listOf("workflow-steps/src/source")).toMatchInlineSnapshot(`
      "checkedDocument
      findIn
      readDocument
      stepsSource
      type CheckedDocument
      type FindWorkflow
      type StepsSource"
    `);
  });

  test("of @uncaged/workflow-steps/document", () => {
    expect(listOf("workflow-steps/src/document")).toMatchInlineSnapshot(`
      "Registry
      SUPPORTED_VERSIONS
      StepType
      builtInTools
      callTypes
      documentedToolName
      getStepType
      hasField
      inputSchema
      literalPath
      nameIn
      nameOf
      outlineOf
      ownFieldNames
      prefixOf
      referencesOf
      runsWorkflow
      schemaOfStep
      type KnownTools
      type Outline
      type Reference
      type Violation
      validate
      workflowSchema"
    `);
  });
});
