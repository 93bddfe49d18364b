import { z } from "@hono/zod-openapi";
import { ExecutionStatus } from "@uncaged/workflow-steps";
import { pathPartSchema } from "./attempt.ts";
import { count, fields, number, optionalFields, optionalText, text } from "./value.ts";

const runID = text.openapi({ example: "01JD0Q8ZC4T9M2V6X5B7N3K1RA" });
const stepID = text.openapi({ example: "LLM_Write" });
const pathSchema = z.array(pathPartSchema);
const texts = z.array(text);
const status = z.enum(ExecutionStatus).openapi("RunStatus");
const clientRunToken = text
  .max(1000)
  .optional()
  .describe("A text of the caller that the events of tools carry.");

export const runPath = z.object({
  runID: text.describe("The run's id, which is the id of its thread."),
});

const mostSteps = 1_000_000_000;

export const checkpointQuery = z
  .object({
    before: stepID.optional().describe("The state before this step's last run."),
    steps: count(0, mostSteps)
      .optional()
      .describe("The state after this number of steps. Not together with `before`."),
  })
  .refine(({ before, steps }) => before === undefined || steps === undefined, {
    message: "give either before or steps",
  });

export const valuesQuery = z.object({
  step: count(1, mostSteps).describe(
    "The number of a step, from 1; the number after the last stands for the next step.",
  ),
});

export const runBody = z
  .strictObject({
    workflowName: optionalText.describe("A name, name@hash, or the hash of a bundle."),
    workflow: optionalFields.describe(
      "A step workflow document. It is checked and built, without a name.",
    ),
    params: optionalFields,
    clientRunToken,
  })
  .openapi("StartRun");

export const resumeRunBody = z
  .strictObject({
    token: optionalText.describe(
      "The `waitToken` of the Pause. Without it, a run that was paused from outside continues.",
    ),
    payload: z.unknown().optional(),
    requestId: optionalText.describe(
      "An id of the caller: a repeated request with the same id has no second effect.",
    ),
  })
  .openapi("ResumeRun");

export const rerunBody = z
  .strictObject({
    workflowName: optionalText.describe(
      "The workflow whose current version runs. Default: the workflow of the checkpoint's run.",
    ),
    workflow: optionalFields.describe(
      "In place of workflowName: a step workflow document. It is checked and built, without a name.",
    ),
    document: optionalText.describe("In place of workflow: its text."),
    name: optionalText.describe("The workflow name of the new run's thread."),
    checkpoint: fields.describe(
      "A checkpoint; or only the `threadId` of a run and `steps`: the state after that many steps.",
    ),
    stepID: stepID
      .optional()
      .describe("The step to begin at. Default: the checkpoint's current step."),
    path: pathSchema
      .optional()
      .describe("With `threadId` and `steps`: the constructs around the step, as in its meta."),
    overrides: optionalFields.describe("Other values of $variables, _locals and params."),
    maxRounds: number.optional(),
    threadId: optionalText,
    clientRunToken,
  })
  .openapi("Rerun");

export const startedRunSchema = z.object({ runID }).openapi("StartedRun");
export const runStateSchema = z.object({ runID, status }).openapi("RunState");

export const snapshotSchema = z
  .object({
    runID,
    status,
    currentStepID: stepID.nullable(),
    elapsedMs: number,
    params: fields,
    variables: fields,
    localVars: fields,
    artifacts: texts,
    paused: z.object({ nodeID: stepID, token: text }).nullable(),
    eventSeq: number.describe("The id of its last event."),
    version: text,
  })
  .openapi("RunSnapshot");

export const variablesSchema = fields.openapi("RunVariables");
export const artifactsSchema = texts.openapi("RunArtifacts");

export const checkpointSchema = z
  .object({
    _type: z.literal("vl_workflow_checkpoint"),
    _version: z.literal(2),
    workflowID: runID,
    currentStepID: stepID,
    status,
    params: fields,
    paramTypes: z.record(text, text),
    variables: fields,
    varTypes: z.record(text, text),
    localVars: fields,
    artifacts: z.record(text, z.object({ path: text, size_bytes: number })),
    completedSteps: z.array(stepID),
    completedBranches: z.record(text, texts),
    brokenBranches: z.record(text, texts).optional(),
    loopProgress: z.record(text, number),
    eventSeq: number,
    version: text,
    createdAt: text,
    threadId: optionalText,
    steps: number.optional(),
  })
  .openapi("RunCheckpoint");

export const valuesSchema = z
  .object({
    steps: number.describe("The number of the run's steps before it."),
    stepID: stepID
      .nullable()
      .describe("`parent/child` for a step of a child workflow; null if unknown."),
    path: pathSchema,
    within: text
      .nullable()
      .describe(
        "The step that runs the workflow of these values; null for the run's own workflow.",
      ),
    params: fields,
    variables: fields,
    localVars: fields,
  })
  .openapi("RunValues");

/** The documented error bodies of the run paths, which differ from the bodies of other paths. */
export const runFailureSchema = z
  .object({
    error: text.openapi({ example: "not found" }),
    code: optionalText,
    hint: text.nullable().optional(),
    messages: texts.optional().describe("All findings."),
  })
  .openapi("RunFailure");
