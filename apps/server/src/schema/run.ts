import { z } from "@hono/zod-openapi";
import { ExecutionStatus } from "@uncaged/workflow-steps";
import { pathPartSchema } from "./attempt.ts";
import { count } from "./request.ts";

const fields = z.record(z.string(), z.unknown());
const runID = z.string().openapi({ example: "01JD0Q8ZC4T9M2V6X5B7N3K1RA" });
const stepID = z.string().openapi({ example: "LLM_Write" });
const executionStatusSchema = z.enum(ExecutionStatus).openapi("RunStatus");
const clientRunToken = z.string().max(1000).optional().openapi({
  description: "The caller's own text, which the events of tools carry.",
});

export const runPath = z.object({
  runID: z.string().openapi({ description: "The run's id, which is its thread's." }),
});

const mostSteps = 1_000_000_000;

export const checkpointQuery = z
  .object({
    before: stepID.optional().openapi({
      description: "The state before this step's last run.",
    }),
    steps: count(0, mostSteps).optional().openapi({
      description: "The state that the run's first so many steps make. Not together with `before`.",
    }),
  })
  .refine(({ before, steps }) => before === undefined || steps === undefined, {
    message: "give either before or steps",
  });

export const valuesQuery = z.object({
  step: count(1, mostSteps).openapi({
    description:
      "The number of one of the run's steps, from 1; the number after the last is what comes next.",
  }),
});

const pathSchema = z.array(pathPartSchema);

export const runBody = z
  .object({
    workflowName: z.string().optional().openapi({
      description: "A name, name@hash, or the hash of a bundle.",
    }),
    workflow: fields.optional().openapi({
      description: "A step workflow itself. It is checked and built, and gets no name.",
    }),
    params: fields.optional(),
    clientRunToken,
  })
  .openapi("StartRun");

export const resumeRunBody = z
  .object({
    token: z.string().optional().openapi({
      description:
        "The `waitToken` of the Pause. Without it a run goes on that was paused from outside.",
    }),
    payload: z.unknown().optional(),
    requestId: z.string().optional().openapi({
      description: "The caller's own: asking again with it has no second effect.",
    }),
  })
  .openapi("ResumeRun");

export const rerunBody = z
  .object({
    workflowName: z.string().optional().openapi({
      description: "Whose current version runs; that of the checkpoint's run when absent.",
    }),
    checkpoint: fields.openapi({
      description:
        "A checkpoint; or only the `threadId` of a run and `steps`: the state that these first steps make.",
    }),
    stepID: stepID
      .optional()
      .openapi({ description: "Where to begin, if not at its current step." }),
    path: pathSchema.optional().openapi({
      description:
        "With `threadId` and `steps`: the constructs around the step, as its meta has them.",
    }),
    overrides: fields.optional().openapi({
      description: "Other values of $variables, _locals and params.",
    }),
    maxRounds: z.number().optional(),
    clientRunToken,
  })
  .openapi("Rerun");

export const startedRunSchema = z.object({ runID }).openapi("StartedRun");

export const runStateSchema = z
  .object({ runID, status: executionStatusSchema })
  .openapi("RunState");

export const snapshotSchema = z
  .object({
    runID,
    status: executionStatusSchema,
    currentStepID: stepID.nullable(),
    elapsedMs: z.number(),
    params: fields,
    variables: fields,
    localVars: fields,
    artifacts: z.array(z.string()),
    paused: z.object({ nodeID: stepID, token: z.string() }).nullable(),
    eventSeq: z.number().openapi({ description: "The id of its last event." }),
    version: z.string(),
  })
  .openapi("RunSnapshot");

export const variablesSchema = fields.openapi("RunVariables");
export const artifactsSchema = z.array(z.string()).openapi("RunArtifacts");

export const checkpointSchema = z
  .object({
    _type: z.literal("vl_workflow_checkpoint"),
    _version: z.literal(2),
    workflowID: runID,
    currentStepID: stepID,
    status: executionStatusSchema,
    params: fields,
    paramTypes: z.record(z.string(), z.string()),
    variables: fields,
    varTypes: z.record(z.string(), z.string()),
    localVars: fields,
    artifacts: z.record(z.string(), z.object({ path: z.string(), size_bytes: z.number() })),
    completedSteps: z.array(stepID),
    completedBranches: z.record(z.string(), z.array(z.string())),
    loopProgress: z.record(z.string(), z.number()),
    eventSeq: z.number(),
    version: z.string(),
    createdAt: z.string(),
    threadId: z.string().optional(),
    steps: z.number().optional(),
  })
  .openapi("RunCheckpoint");

export const valuesSchema = z
  .object({
    steps: z.number().openapi({ description: "How many of the run's steps come before it." }),
    stepID: stepID.nullable().openapi({
      description: "`parent/child` for a step of a child workflow; null where none is known.",
    }),
    path: pathSchema,
    within: z.string().nullable().openapi({
      description:
        "The step that runs the workflow whose values these are; null for the run's own.",
    }),
    params: fields,
    variables: fields,
    localVars: fields,
  })
  .openapi("RunValues");

/** How a refusal of a run's paths looks: as their documentation has it, and not as elsewhere. */
export const runFailureSchema = z
  .object({
    error: z.string().openapi({ example: "not found" }),
    code: z.string().optional(),
    hint: z.string().nullable().optional(),
    messages: z.array(z.string()).optional().openapi({
      description: "Each finding of what is invalid.",
    }),
  })
  .openapi("RunFailure");
