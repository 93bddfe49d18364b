import { z } from "@hono/zod-openapi";
import { statuses } from "@uncaged/workflow/host";

const threadId = z.string().openapi({ example: "01JD0Q8ZC4T9M2V6X5B7N3K1RA" });
const hash = z.string().openapi({ example: "EYHPV6X8XHTCS" });
const attemptId = z.string().optional().openapi({
  description: "The attempt that it belongs to; absent in logs of older versions.",
  example: "01JD0Q8ZC4T9M",
});
const milliseconds = z.number().openapi({ description: "Milliseconds since the epoch, UTC." });

export const statusSchema = z.enum(statuses).openapi("Status");

export const stepSchema = z
  .object({
    role: z.string(),
    content: z.string(),
    meta: z.record(z.string(), z.unknown()),
    timestamp: milliseconds,
    attempt: attemptId,
  })
  .openapi("Step");

const resultSchema = z.object({ returnCode: z.number(), summary: z.string() }).nullable();
const forkFromSchema = z.object({ threadId, steps: z.number() }).nullable();

/** What a thread spent, as far as it is known; `unpriced` counts the steps without a known cost. */
const spentSchema = z.object({ tokens: z.number(), cost: z.number(), unpriced: z.number() });

export const threadRowSchema = z
  .object({
    threadId,
    workflow: z.string(),
    hash,
    status: statusSchema,
    steps: z.number().openapi({ description: "How many steps it has." }),
    createdAt: milliseconds,
    updatedAt: milliseconds,
    role: z.string().nullable().optional().openapi({
      description:
        "The role at work, where its events name one; else that of the last step. Only with details=true.",
    }),
    spent: spentSchema.optional().openapi({
      description: "What its own steps spent. Only with details=true.",
    }),
  })
  .openapi("ThreadRow");

export const threadSchema = z
  .object({
    threadId,
    workflow: z.string(),
    hash,
    status: statusSchema,
    prompt: z.string(),
    params: z.unknown().optional().openapi({
      description: "What it was started with beside the prompt; absent when with nothing.",
    }),
    maxRounds: z.number(),
    createdAt: milliseconds,
    steps: z.array(stepSchema),
    result: resultSchema,
    forkFrom: forkFromSchema,
    pid: z.number().nullable(),
    stepCount: z.number().openapi({ description: "How many steps it has, also with steps=false." }),
    last: stepSchema.nullable().openapi({ description: "Its last step." }),
    failure: z
      .looseObject({ name: z.string(), step: z.number() })
      .nullable()
      .openapi({ description: "Why it failed, beside the summary; `step` counts from 1." }),
  })
  .openapi("Thread");

export const liveRowSchema = z
  .object({
    threadId,
    workflow: z.string(),
    hash,
    status: statusSchema,
    pid: z.number(),
    steps: z.number(),
    role: z.string().nullable(),
    elapsedMs: z.number(),
  })
  .openapi("LiveRow");

export const numberedStepSchema = stepSchema
  .extend({ number: z.number().openapi({ description: "Counts from 1." }) })
  .openapi("NumberedStep");

export const stepsPageSchema = z
  .object({ threadId, total: z.number(), steps: z.array(numberedStepSchema) })
  .openapi("StepsPage");

export const logLineSchema = z
  .object({
    tag: z.string(),
    content: z.string(),
    timestamp: milliseconds,
    type: z.string().optional().openapi({ description: "An event's type; other lines have none." }),
    stepID: z.string().nullable().optional(),
    payload: z.unknown().optional(),
    seq: z.number().optional(),
    attempt: attemptId,
    step: z.number().optional().openapi({ description: "The step, from 1, that it comes before." }),
  })
  .openapi("LogLine");

export const logPageSchema = z
  .object({
    threadId,
    lines: z.array(logLineSchema),
    next: z.number().nullable().openapi({
      description: "Where the next page begins, as `after`; null when there is no more by now.",
    }),
  })
  .openapi("LogPage");

const tallySchema = z.object({
  usage: z.record(z.string(), z.number()),
  ...spentSchema.shape,
});

export const ledgerSchema = z
  .object({
    total: tallySchema,
    saved: tallySchema,
    lost: tallySchema.openapi({ description: "The part of `total` that no step came of." }),
    unknown: z.number().openapi({
      description: "How many calls of a model broke off before all of their tokens were reported.",
    }),
    roles: z.record(z.string(), tallySchema),
    models: z.record(z.string(), tallySchema),
    attempts: z.array(
      tallySchema.extend({
        attempt: z.string(),
        step: z.number().nullable(),
        role: z.string(),
        model: z.string().nullable(),
        kind: z.enum(["own", "saved", "lost"]),
      }),
    ),
  })
  .openapi("Ledger");

export const diffSchema = z
  .object({
    same: z.boolean(),
    firstDifference: z.number().nullable(),
    prompt: z.object({ a: z.string(), b: z.string(), same: z.boolean() }),
    steps: z.array(
      z.object({
        number: z.number(),
        a: stepSchema.nullable(),
        b: stepSchema.nullable(),
        same: z.boolean(),
      }),
    ),
  })
  .openapi("ThreadDiff");

export const relativeSchema = z
  .object({
    threadId,
    workflow: z.string(),
    hash,
    status: statusSchema,
    steps: z.number(),
    createdAt: milliseconds,
    forkFrom: forkFromSchema,
  })
  .openapi("Relative");

export const controlledSchema = z.object({ threadId }).openapi("Controlled");

export const killedSchema = z.object({ threadId, resumed: z.array(threadId) }).openapi("Killed");

export const startedSchema = z
  .object({ threadId, workflow: z.string(), hash })
  .openapi("StartedThread");

export const forkedSchema = startedSchema
  .extend({ forkFrom: z.object({ threadId, steps: z.number() }) })
  .openapi("ForkedThread");

/*
 * The data of the server-sent events, by their names.
 */

/** Of one thread. The ids of `start`, `step`, `event` and `end` are cursors. */
const threadEventSchemas = {
  start: z.object({
    threadId: z.string(),
    workflow: z.string(),
    hash: z.string(),
    prompt: z.string(),
    maxRounds: z.number(),
    createdAt: z.number(),
    forkFrom: z.object({ threadId: z.string(), steps: z.number() }).nullable(),
  }),
  step: numberedStepSchema,
  event: logLineSchema,
  status: z.object({ status: statusSchema, steps: z.number() }),
  end: z.object({
    status: statusSchema,
    result: z.object({ returnCode: z.number(), summary: z.string() }).nullable(),
  }),
  removed: z.object({ threadId: z.string() }),
};

/** Of the host. `reload` comes first: the client reads its lists then, and whenever it comes again. */
const hostEventSchemas = {
  thread: threadRowSchema,
  removed: z.object({ threadId: z.string() }),
  workflows: z.object({}),
  reload: z.object({}),
};

type Named<Schemas extends Record<string, z.ZodType>> = {
  [Name in keyof Schemas]: z.infer<Schemas[Name]>;
};

/** The data of the server-sent events of one thread, by the event's name. */
export type ThreadEvents = Named<typeof threadEventSchemas>;

/** The data of the server-sent events of the host, by the event's name. */
export type HostEvents = Named<typeof hostEventSchemas>;
