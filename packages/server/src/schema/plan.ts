import { z } from "@hono/zod-openapi";
import {
  decisions,
  diffModes,
  failureReactions,
  phases,
  runStatuses,
  stepStatuses,
} from "@uncaged/workflow-plan/terms";
import { number, orNull, text, threadId } from "./value.ts";

/* Plans in the format of the API: ISO times, and keys with underscores. */

const moment = text.openapi({ example: "2026-11-23T08:00:00.000Z" });
const json = z.unknown();

export const planPath = z.object({
  id: text.describe("A plan's id, or any unique beginning of it, with or without wf_."),
});
export const plannerPath = z.object({ session: text.describe("The id of a planner session.") });

export const phaseSchema = z.enum(phases);

const triggerSchema = z.looseObject({
  type: z.enum(["poll", "cron", "manual"]),
  interval_seconds: number.optional(),
  check_script: text.optional(),
  diff_mode: z.enum(diffModes).optional(),
  expression: text.optional(),
  timezone: text.optional(),
});

const planStepSchema = z.looseObject({
  id: text,
  description: text,
  expected_output: text.optional(),
  agent: z.literal("claude"),
  inputs: z.record(text, json),
  depends_on: z.array(text),
  position: z.object({ x: number, y: number }).optional(),
});

const failurePolicySchema = z.object({
  on_step_failure: z.enum(failureReactions),
  max_retries: number,
  retry_delay_ms: number,
});

export const planSchema = z
  .object({
    schema_version: text,
    id: text,
    name: text,
    description: text,
    trigger: triggerSchema,
    steps: z.array(planStepSchema),
    failure_policy: failurePolicySchema,
    phase: phaseSchema,
    created_at: moment,
    updated_at: moment,
    metadata: z.record(text, json).optional(),
  })
  .openapi("Plan");

const stepRunSchema = z
  .object({
    id: text,
    run_id: text,
    step_id: text,
    status: z.enum(stepStatuses),
    output_json: orNull(text).describe("The JSON text of the whole output."),
    error: orNull(text),
    cancelled: z.boolean(),
    started_at: orNull(moment),
    completed_at: orNull(moment),
    duration_ms: orNull(number),
  })
  .openapi("StepRun");

const runSchema = z.object({
  id: text.describe("`run_` and the id of the run's thread."),
  workflow_id: text,
  trigger_data: orNull(text),
  status: z.enum(runStatuses),
  started_at: moment,
  completed_at: orNull(moment),
  error: orNull(text),
  cancelled: z.boolean(),
  duration_ms: orNull(number),
});

const planRunSchema = runSchema.extend({ steps: z.array(stepRunSchema) }).openapi("PlanRun");

const triggerStateSchema = z
  .object({
    last_result: orNull(text),
    last_check_at: orNull(moment),
    last_fire_at: orNull(moment),
    last_error: orNull(text),
  })
  .openapi("TriggerState");

const previewSchema = z
  .object({
    trigger: text,
    nextFires: z.array(moment).describe("The next slots of a cron trigger."),
    credentials: z.array(z.object({ name: text, known: z.boolean() })),
    sandbox: orNull(text).describe("The sandbox of the steps, or the reason why they can't run."),
    sandboxFacts: z.array(text).describe("The sandbox as a list of facts."),
    warnings: z.array(text).describe("Warnings of the plan's check."),
  })
  .openapi("PlanPreview");

export const wantedSchema = z
  .object({
    workflowId: text,
    runId: text,
    threadId,
    stepId: text,
    question: text.describe("The id of this question. Another failure of the step has another id."),
    error: text,
    expiresAt: orNull(number),
  })
  .openapi("WantedDecision");

const firesSchema = orNull(z.boolean()).describe(
  "For a confirmed plan with a trigger: whether a service, a server or a timer fires it.",
);

export const planRowSchema = z
  .object({
    ...planSchema.shape,
    trigger_text: text.describe("Its trigger in a few words."),
    next_fire_at: orNull(moment),
    fires: firesSchema,
    last_fire_at: orNull(moment),
    last_run: orNull(runSchema.openapi("PlanRunRow")),
    wanted: z.array(wantedSchema).describe("The decisions that its run waits for."),
    waits: z
      .boolean()
      .describe(
        "Whether the plan waits for a person: for a confirmation of the plan or its change, or for a decision.",
      ),
  })
  .openapi("PlanRow");

export const planViewSchema = z
  .object({
    ...planSchema.shape,
    next_fire_at: orNull(moment),
    fires: firesSchema,
    runs: z.array(planRunSchema).describe("Newest first."),
    trigger_state: orNull(triggerStateSchema),
    hash: text.describe("The hash of the definition to confirm."),
    draft: orNull(planSchema).describe("The unconfirmed change of a confirmed plan."),
    preview: previewSchema,
    wanted: z.array(wantedSchema).describe("The decisions that its run waits for."),
  })
  .openapi("PlanView");

export const startedPlanSchema = z
  .object({
    workflowId: text,
    phase: phaseSchema,
    runId: orNull(text),
    threadId: orNull(threadId),
  })
  .openapi("StartedPlan");

export const decidedSchema = z
  .object({ workflowId: text, runId: text, stepId: text, decision: z.enum(decisions) })
  .openapi("Decided");

export const deletedPlanSchema = z.object({ id: text }).openapi("DeletedPlan");

export const conversationSchema = z
  .object({
    session: text,
    messages: z.array(z.object({ by: z.enum(["user", "planner"]), text })),
    workflow: orNull(text).describe("The id of the resulting plan."),
    turn: orNull(z.enum(["at work", "elsewhere", "interrupted"])).describe(
      "The state of the last turn: it runs in this server, runs in another program, or was lost with its process.",
    ),
  })
  .openapi("PlannerConversation");

export const stoppedSchema = z.object({ session: text }).openapi("StoppedTurn");

// Requests
const words = text.min(1).max(1_000_000);
export const wishBody = z.strictObject({ text: words }).openapi("PlanWish");
export const definitionBody = z
  .strictObject({
    name: text,
    description: text,
    trigger: z.record(text, json),
    steps: z.array(z.record(text, json)),
    failure_policy: z.record(text, json),
    metadata: z
      .record(text, json)
      .optional()
      .describe("cwd, container, sandbox, missed_slots, …: replaces the plan's metadata."),
  })
  .openapi("PlanDefinition");
export const confirmBody = z
  .strictObject({ hash: text.optional().describe("Refused if the plan has another hash.") })
  .openapi("ConfirmPlan");
export const runPlanBody = z
  .strictObject({ data: text.optional().describe("The run's trigger data.") })
  .openapi("RunPlan");
export const decisionBody = z
  .strictObject({
    decision: z.enum(decisions),
    stepId: text.optional().describe("Refused if the question is about another step."),
    question: text.optional().describe("Refused if another question is open."),
  })
  .openapi("AnswerPlan");

/**
 * The data of the plan events. After `plans`, which comes first if the client missed events, it must read the plans
 * again.
 */
export type PlanEvents = {
  plan: z.infer<typeof planRowSchema>;
  plan_removed: { id: string };
  plans: Record<string, never>;
};

/** The messages of a conversation's stream. */
export type PlannerEvents = {
  begin: { session: string; text: string };
  token: { text: string };
  turn: {
    session: string;
    turn: { type: "question" | "plan" | "text" | "error"; content: string; stopped?: true };
    workflow: z.infer<typeof planSchema> | null;
  };
  error: { code: string; message: string; hint: string | null };
};
