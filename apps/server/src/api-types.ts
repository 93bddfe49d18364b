/*
 * The shapes of the HTTP API, for programs in TypeScript. Types only: nothing of the server is loaded.
 * The paths, and what each takes and gives, stand in /api/openapi.json and in docs/server.md.
 */
import type { z } from "@hono/zod-openapi";
import type * as request from "./shape/request.ts";
import type * as run from "./shape/run.ts";
import type { serverShape } from "./shape/server.ts";
import type * as thread from "./shape/thread.ts";
import type * as workflow from "./shape/workflow.ts";

// Threads
export type Status = z.infer<typeof thread.statusShape>;
export type Step = z.infer<typeof thread.stepShape>;
export type NumberedStep = z.infer<typeof thread.numberedStepShape>;
export type Thread = z.infer<typeof thread.threadShape>;
export type ThreadRow = z.infer<typeof thread.threadRowShape>;
export type LiveRow = z.infer<typeof thread.liveRowShape>;
export type StepsPage = z.infer<typeof thread.stepsPageShape>;
export type LogLine = z.infer<typeof thread.logLineShape>;
export type LogPage = z.infer<typeof thread.logPageShape>;
export type Ledger = z.infer<typeof thread.ledgerShape>;
export type ThreadDiff = z.infer<typeof thread.diffShape>;
export type Relative = z.infer<typeof thread.relativeShape>;
export type Controlled = z.infer<typeof thread.controlledShape>;
export type Killed = z.infer<typeof thread.killedShape>;
export type StartedThread = z.infer<typeof thread.startedShape>;
export type ForkedThread = z.infer<typeof thread.forkedShape>;

// Workflows
export type Descriptor = z.infer<typeof workflow.descriptorShape>;
export type WorkflowRow = z.infer<typeof workflow.workflowRowShape>;
export type Workflow = z.infer<typeof workflow.workflowShape>;
export type VersionRow = z.infer<typeof workflow.versionRowShape>;
export type AddedWorkflow = z.infer<typeof workflow.addedShape>;
export type RolledBack = z.infer<typeof workflow.rolledBackShape>;
export type Bundle = z.infer<typeof workflow.bundleShape>;
export type RunForm = z.infer<typeof workflow.formShape>;

// Runs of step workflows
export type RunSnapshot = z.infer<typeof run.snapshotShape>;
export type RunCheckpoint = z.infer<typeof run.checkpointShape>;
export type RunValues = z.infer<typeof run.valuesShape>;
export type RunStand = z.infer<typeof run.runStandShape>;
export type RunFailure = z.infer<typeof run.runFailureShape>;
export type StartedRun = z.infer<typeof run.startedRunShape>;
export type StartRun = z.input<typeof run.runBody>;
export type ResumeRun = z.input<typeof run.resumeRunBody>;
export type Rerun = z.input<typeof run.rerunBody>;

// Requests
export type WorkflowFiles = z.input<typeof request.filesBody>;
export type ThreadsQuery = z.input<typeof request.threadsQuery>;
export type StartThread = z.input<typeof request.startBody>;
export type ResumeThread = z.input<typeof request.resumeBody>;
export type AnswerThread = z.input<typeof request.inputBody>;
export type KillThread = z.input<typeof request.killBody>;
export type ForkThread = z.input<typeof request.forkBody>;
export type RetryThread = z.input<typeof request.retryBody>;

// The rest
export type Server = z.infer<typeof serverShape>;
export type { HostEvents, ThreadEvents } from "./shape/event.ts";
export type { Failure } from "./shape/failure.ts";
