/* Types of the HTTP API, for TypeScript programs. docs/reference/server.md describes the paths. */
import type * as attempt from "../schema/attempt.ts";
import type * as evaluated from "../schema/eval.ts";
import type * as graph from "../schema/graph.ts";
import type * as plan from "../schema/plan.ts";
import type * as request from "../schema/request.ts";
import type * as run from "../schema/run.ts";
import type * as thread from "../schema/thread.ts";
import type * as workflow from "../schema/workflow.ts";
import type { z } from "@hono/zod-openapi";
import type { serverSchema } from "../schema/server.ts";

// Threads
export type Status = z.infer<typeof thread.statusSchema>;
export type Step = z.infer<typeof thread.stepSchema>;
export type NumberedStep = z.infer<typeof thread.numberedStepSchema>;
export type Thread = z.infer<typeof thread.threadSchema>;
export type ThreadRow = z.infer<typeof thread.threadRowSchema>;
export type ThreadSummary = z.infer<typeof thread.summarySchema>;
export type LiveRow = z.infer<typeof thread.liveRowSchema>;
export type StepsPage = z.infer<typeof thread.stepsPageSchema>;
export type LogLine = z.infer<typeof thread.logLineSchema>;
export type LogPage = z.infer<typeof thread.logPageSchema>;
export type Ledger = z.infer<typeof thread.ledgerSchema>;
export type ThreadDiff = z.infer<typeof thread.diffSchema>;
export type Relative = z.infer<typeof thread.relativeSchema>;
export type Controlled = z.infer<typeof thread.controlledSchema>;
export type Recovered = z.infer<typeof thread.recoveredSchema>;
export type StoppedAll = z.infer<typeof thread.stoppedAllSchema>;
export type Killed = z.infer<typeof thread.killedSchema>;
export type StartedThread = z.infer<typeof thread.startedSchema>;
export type ForkedThread = z.infer<typeof thread.forkedSchema>;
export type Attempt = z.infer<typeof attempt.attemptSchema>;
export type Attempts = z.infer<typeof attempt.attemptsSchema>;

// Workflows
export type Descriptor = z.infer<typeof workflow.descriptorSchema>;
export type WorkflowRow = z.infer<typeof workflow.workflowRowSchema>;
export type Workflow = z.infer<typeof workflow.workflowSchema>;
export type VersionRow = z.infer<typeof workflow.versionRowSchema>;
export type AddedWorkflow = z.infer<typeof workflow.addedSchema>;
export type VersionCheck = z.infer<typeof workflow.checkSchema>;
export type RolledBack = z.infer<typeof workflow.rolledBackSchema>;
export type Bundle = z.infer<typeof workflow.bundleSchema>;
export type SavedDocument = z.infer<typeof workflow.documentSchema>;
export type Tool = z.infer<typeof workflow.toolSchema>;
export type RunForm = z.infer<typeof workflow.formSchema>;

// Runs of step workflows
export type RunSnapshot = z.infer<typeof run.snapshotSchema>;
export type RunCheckpoint = z.infer<typeof run.checkpointSchema>;
export type RunValues = z.infer<typeof run.valuesSchema>;
export type RunState = z.infer<typeof run.runStateSchema>;
export type RunFailure = z.infer<typeof run.runFailureSchema>;
export type StartedRun = z.infer<typeof run.startedRunSchema>;
export type StartRun = z.input<typeof run.runBody>;
export type ResumeRun = z.input<typeof run.resumeRunBody>;
export type Rerun = z.input<typeof run.rerunBody>;

// Runs of agent graphs
export type RunResult = z.infer<typeof graph.runResultSchema>;
export type StartedGraphRun = z.infer<typeof graph.startedGraphSchema>;
export type GraphConfig = z.infer<typeof graph.configSchema>;
export type GraphFailure = z.infer<typeof graph.graphFailureSchema>;
export type RunGraph = z.input<typeof graph.runGraphBody>;
export type ResumeGraph = z.input<typeof graph.resumeGraphBody>;
export type CancelGraph = z.input<typeof graph.cancelGraphBody>;
export type RetryGraph = z.input<typeof graph.retryGraphBody>;

// Evals
export type Eval = z.infer<typeof evaluated.evalSchema>;
export type EvalRow = z.infer<typeof evaluated.evalRowSchema>;

// Plans
export type Plan = z.infer<typeof plan.planSchema>;
export type PlanRow = z.infer<typeof plan.planRowSchema>;
export type PlanView = z.infer<typeof plan.planViewSchema>;
export type StartedPlan = z.infer<typeof plan.startedPlanSchema>;
export type WantedDecision = z.infer<typeof plan.wantedSchema>;
export type PlanDefinition = z.input<typeof plan.definitionBody>;
export type PlannerConversation = z.infer<typeof plan.conversationSchema>;
export type PlanDecision = z.input<typeof plan.decisionBody>["decision"];
export type { PlanEvents, PlannerEvents } from "../schema/plan.ts";

// Requests
export type WorkflowFiles = z.input<typeof request.filesBody>;
export type ThreadsQuery = z.input<typeof request.threadsQuery>;
export type StartThread = z.input<typeof request.startBody>;
export type ResumeThread = z.input<typeof request.resumeBody>;
export type AnswerThread = z.input<typeof request.inputBody>;
export type KillThread = z.input<typeof request.killBody>;
export type ForkThread = z.input<typeof request.forkBody>;
export type RetryThread = z.input<typeof request.retryBody>;

// The server
export type Server = z.infer<typeof serverSchema>;
export type { HostEvents, ThreadEvents } from "../schema/thread.ts";
export type { Failure } from "../schema/server.ts";
