// Settings
export {
  configEntries,
  type ConfigSources,
  readConfig,
  setConfig,
  settingOf,
} from "../config/config.ts";
export { type CueclawConfig, settings } from "../config/settings.ts";
export { checkSecretName, offeredNames, readSecrets } from "../secret/secret.ts";

// Home
export { homeVariable, planHome } from "../store/home.ts";
export { openPlans, openSecrets, openSharedPlans } from "../home/open.ts";
export type { Plans, PlansOptions, PlanView, Started } from "../home/plans.ts";
export type { SharedRows } from "../store/shared-rows.ts";
export { metadataProblems } from "../check/check.ts";
export { planHash } from "../plan/hash.ts";
export { slugOf } from "../home/version.ts";
export { isPlan, workflowIn } from "../source/source.ts";
export { Planning, type Turned } from "../planning/planning.ts";
export { type PlanPreview, previewText } from "../preview/preview.ts";
export type { Begun } from "../runs/runs.ts";
export type { DecisionOptions, Wanted } from "../runs/decisions.ts";
export type { RunRow, StepRow, TriggerState } from "../store/rows.ts";

// Sandbox
export { Confirmations } from "../store/confirmations.ts";
export { checkSandbox, type SandboxReport, scriptCommand, testSandbox } from "../step/report.ts";

// Triggers
export { openTriggerLoop, tick, type TickOptions } from "../service/tick.ts";

// Service
export { claimTriggers, isFiring } from "../service/control.ts";
export { runService, type ServiceEvent } from "../service/service.ts";
export {
  installService,
  serviceStatus,
  type ServiceStatus,
  startService,
  stopService,
} from "../service/manage.ts";
export { type Unit, unitOf } from "../service/unit.ts";

// Channels
export { intentClassifier } from "../router/intent.ts";
export { type Messaging, type MessagingOptions, openMessaging } from "../router/messaging.ts";
export type { Channel, NewMessage, OnInboundMessage } from "../channel/channel.ts";

// Terminal
export type {
  CommandContext,
  DaemonBridge,
  InitDaemonBridgeOptions,
  MessageRouter,
  SlashCommand,
  TriggerLoop,
} from "../terminal/commands.ts";
export type { ChatMessage } from "../terminal/message.ts";
export { runTerminalChat } from "../terminal/terminal.ts";
