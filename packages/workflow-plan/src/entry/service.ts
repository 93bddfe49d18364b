// Entry point 3: the service of plans: their home with its settings. The engine is an argument.

// Settings
export {
  type ConfigEntry,
  configEntries,
  type ConfigSources,
  readConfig,
  setConfig,
  settingOf,
  variableOf,
} from "../config/config.ts";
export { type CueclawConfig, settings } from "../config/settings.ts";

// Secrets
export {
  checkSecretName,
  offeredNames,
  readSecrets,
  type Secrets,
} from "../secret/secret.ts";

// Plans
export { type Expected, triggerStateOf, triggerStates } from "../store/trigger-state.ts";
export { openPlans, openPlansThatAre, openSharedPlans } from "../home/open.ts";
export type { SharedRows } from "../store/shared-rows.ts";
export { Confirmations } from "../store/confirmations.ts";
export { Plans, type PlansOptions, type PlanView, type Started } from "../home/plans.ts";
export { Planning, type Turned } from "../planning/planning.ts";
export {
  nextDue,
  type PlanPreview,
  previewOf,
  previewText,
  triggerText,
} from "../preview/preview.ts";
export { homeVariable, planHome } from "../store/home.ts";
export { planStamps } from "../home/stamps.ts";
export { planHash } from "../plan/hash.ts";
export type { PlanDatabase } from "../store/database.ts";
export type { Begun } from "../runs/runs.ts";
export type { DecisionOptions, Wanted } from "../runs/decisions.ts";
export { SecretFile } from "../home/secrets.ts";
export { type Ended, lastRunOf } from "../runs/projection.ts";
export type { RunRow, SessionRow, StepRow, TriggerState, WorkflowRow } from "../store/rows.ts";

// Sandbox
export { type CheckedMount, type MountAllowlist, readAllowlist } from "../mount/mount.ts";
export {
  checkSandbox,
  type SandboxQuestion,
  type SandboxReport,
  type ScriptCommand,
  scriptCommand,
  testSandbox,
} from "../step/report.ts";

// Triggers
export type { CheckCommand, CheckLimits } from "../trigger/check-script.ts";
export { openTriggerLoop, type Ticked, tick, type TickOptions } from "../service/tick.ts";
export type { Fired } from "../service/triggers.ts";

// The service
export {
  runService,
  type ServiceEvent,
  type ServiceMessaging,
  type ServiceOptions,
} from "../service/service.ts";
export {
  installService,
  serviceStatus,
  type ServiceStatus,
  startService,
  stopService,
} from "../service/manage.ts";
export { type Unit, unitOf, type UnitOptions } from "../service/unit.ts";
export {
  requestStop,
  runningService,
  type ServiceInfo,
  type StopRequest,
} from "../service/control.ts";

// Channels
export type {
  Button,
  Channel,
  ChannelOptions,
  MessageMetadata,
  NewMessage,
  OnInboundMessage,
} from "../channel/channel.ts";
export { intentClassifier, type Classifier, type Intent } from "../router/intent.ts";
export { type Messaging, type MessagingOptions, openMessaging } from "../router/messaging.ts";
export { Notices } from "../router/notices.ts";
export type { Router } from "../router/router.ts";

// Terminal
export {
  type CommandContext,
  type DaemonBridge,
  findCommand,
  getCommands,
  type InitDaemonBridgeOptions,
  registerCommand,
  type SlashCommand,
} from "../terminal/commands.ts";
export type { ChatMessage } from "../terminal/message.ts";
export { runTerminalChat, type TerminalChatOptions } from "../terminal/terminal.ts";
