import { z } from "@hono/zod-openapi";
import { number, optionalText, stepNumber, text } from "./value.ts";

const runId = text.openapi({ example: "01JD0Q8ZC4T9M2V6X5B7N3K1RA" });
const given = text.min(1).describe("The run's id, or the id of an imported record.");

/** Graphs and bodies keep unknown fields, because documented clients send such fields. */
const graphSchema = z
  .looseObject({ nodes: z.array(z.unknown()), connections: z.array(z.unknown()) })
  .openapi("Graph");

export const runGraphBody = z
  .looseObject({
    graph: graphSchema,
    name: z.string().optional().describe("The document's name, which lists of threads show."),
  })
  .openapi("RunGraph");

export const resumeGraphBody = z
  .looseObject({
    runId: given,
    input: z
      .unknown()
      .optional()
      .describe(
        "approve, approved, yes, true or reject, rejected, no, false; or `{decision, note?}` with one of these; or " +
          "`{approved: boolean, note?}`. Anything else: 400.",
      ),
    question: stepNumber
      .optional()
      .describe(
        "The `question` of the run that is answered. If another question is open: 409 `STALE_ANSWER`.",
      ),
  })
  .openapi("ResumeGraph");

export const cancelGraphBody = z.looseObject({ runId: given }).openapi("CancelGraph");

export const retryGraphBody = z
  .looseObject({
    runId: given,
    nodeId: optionalText.describe("Starts a new run at the last execution of this node."),
  })
  .openapi("RetryGraph");

export const graphRunPath = z.object({ runId: text.describe("The run's id.") });

const logEntrySchema = z
  .object({
    ...{ timestamp: number, nodeId: text, type: text, content: text },
    decision: z
      .enum(["approve", "reject"])
      .optional()
      .describe("The decision in an answer to an approval."),
    reason: z
      .literal("interrupted")
      .optional()
      .describe(
        "The reason for the end of the run, for an error that the run itself could not log.",
      ),
  })
  .openapi("WorkflowLogEntry");

export const runResultSchema = z
  .object({
    runId,
    status: z.enum(["pending", "running", "paused", "completed", "failed", "cancelled"]),
    logs: z.array(logEntrySchema),
    state: z.record(text, z.unknown()),
    waitingForInput: z.boolean(),
    currentNodeId: text.nullable(),
    question: number.nullable().describe("The number of the open question's step."),
    workflow: z.record(text, z.unknown()),
  })
  .openapi("RunResult");

export const startedGraphSchema = z.object({ runId }).openapi("StartedGraphRun");

export const workflowGraphSchema = graphSchema;

export const configSchema = z
  .looseObject({
    providers: z.array(
      z.looseObject({
        id: text,
        name: text,
        enabled: z.boolean(),
        models: z.array(
          z.looseObject({ id: text, name: text, reasoningEfforts: z.array(text).optional() }),
        ),
      }),
    ),
  })
  .openapi("GraphConfig");

/** The documented error bodies of these paths, which differ from the bodies of other paths. */
export const graphFailureSchema = z
  .object({
    error: text.openapi({ example: "Run not found" }),
    code: optionalText,
    hint: text.nullable().optional(),
    details: z.union([text, z.array(text)]).optional(),
  })
  .openapi("GraphFailure");
