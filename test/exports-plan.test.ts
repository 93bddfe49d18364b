import { describe, expect, test } from "bun:test";
import { listOf } from "./entry-point.ts";

/* As `exports.test.ts`, of the plans. */
describe("the exported names of the plans", () => {
  test("of @uncaged/workflow-plan", () => {
    expect(listOf("workflow-plan/src/index")).toMatchInlineSnapshot(`
      "ConfigError
      CueclawError
      ExecutorError
      PlanState
      Planner
      PlannerError
      TriggerError
      checkPlan
      claudeAgent
      generatePlan
      keptByRetry
      modifyPlan
      placed
      planBundle
      planIn
      stepRunId
      type AdditionalMount
      type ChannelContext
      type CheckedPlan
      type ClaudeAgentOptions
      type ContainerConfig
      type Decision
      type FailurePolicy
      type PlanDefinition
      type PlanDescriptor
      type PlanDocument
      type PlanMetadata
      type PlanOptions
      type PlanProblem
      type PlanStep
      type PlannerOptions
      type PlannerOutput
      type PlannerSession
      type PlannerTurn
      type SecretStore
      type StepAgent
      type StepAnswer
      type StepRecord
      type StepRequest
      type StepState
      type StepStatus
      type StepSurroundings
      type StreamCallbacks
      type Subtask
      type TriggerConfig
      type Workflow
      type WorkflowPhase"
    `);
  });

  test("of @uncaged/workflow-plan/source", () => {
    expect(listOf("workflow-plan/src/source")).toMatchInlineSnapshot(`
      "isPlan
      planSource
      type PlanSource"
    `);
  });

  test("of @uncaged/workflow-plan/terms", () => {
    expect(listOf("workflow-plan/src/terms")).toMatchInlineSnapshot(`
      "decisions
      diffModes
      failureReactions
      phases
      runStatuses
      stepStatuses
      type Decision"
    `);
  });

  test("of @uncaged/workflow-plan/service", () => {
    expect(listOf("workflow-plan/src/service")).toMatchInlineSnapshot(`
      "Notices
      Planning
      Plans
      SecretFile
      checkSandbox
      checkSecretName
      configEntries
      findCommand
      getCommands
      installService
      intentClassifier
      lastRunOf
      nextDue
      offeredNames
      openMessaging
      openPlans
      openPlansThatAre
      openSharedPlans
      openTriggerLoop
      planHash
      planHome
      planStamps
      previewOf
      previewText
      readAllowlist
      readConfig
      readSecrets
      registerCommand
      requestStop
      runService
      runTerminalChat
      runningService
      scriptCommand
      serviceStatus
      setConfig
      settingOf
      settings
      startService
      stopService
      tick
      triggerStateOf
      triggerStates
      triggerText
      type Begun
      type Button
      type Channel
      type ChannelOptions
      type ChatMessage
      type CheckCommand
      type CheckLimits
      type CheckedMount
      type Classifier
      type CommandContext
      type ConfigEntry
      type ConfigSources
      type CueclawConfig
      type DaemonBridge
      type DecisionOptions
      type Ended
      type Expected
      type Fired
      type InitDaemonBridgeOptions
      type Intent
      type MessageMetadata
      type Messaging
      type MessagingOptions
      type MountAllowlist
      type NewMessage
      type OnInboundMessage
      type PlanDatabase
      type PlanPreview
      type PlanView
      type PlansOptions
      type Router
      type RunRow
      type SandboxQuestion
      type SandboxReport
      type ScriptCommand
      type Secrets
      type ServiceEvent
      type ServiceInfo
      type ServiceMessaging
      type ServiceOptions
      type ServiceStatus
      type SessionRow
      type SharedRows
      type SlashCommand
      type Started
      type StepRow
      type StopRequest
      type TerminalChatOptions
      type TickOptions
      type Ticked
      type TriggerState
      type Turned
      type Unit
      type UnitOptions
      type Wanted
      type WorkflowRow
      unitOf
      variableOf"
    `);
  });
});
