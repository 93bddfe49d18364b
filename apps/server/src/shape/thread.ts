import { z } from "@hono/zod-openapi";
import { statuses } from "@uncaged/workflow/host";

const threadId = z.string().openapi({ example: "01JD0Q8ZC4T9M2V6X5B7N3K1RA" });
const hash = z.string().openapi({ example: "EYHPV6X8XHTCS" });
const milliseconds = z.number().openapi({ description: "Milliseconds since the epoch, UTC." });

export const statusShape = z.enum(statuses).openapi("Status");

export const stepShape = z
  .object({
    role: z.string(),
    content: z.string(),
    meta: z.record(z.string(), z.unknown()),
    timestamp: milliseconds,
  })
  .openapi("Step");

const resultShape = z.object({ returnCode: z.number(), summary: z.string() }).nullable();
const forkFromShape = z.object({ threadId, steps: z.number() }).nullable();

/** What a thread spent, as far as it is known; `unpriced` counts the steps without a known price. */
const spentShape = z.object({ tokens: z.number(), cost: z.number(), unpriced: z.number() });

export const threadRowShape = z
  .object({
    threadId,
    workflow: z.string(),
    hash,
    status: statusShape,
    steps: z.number().openapi({ description: "How many steps it has." }),
    createdAt: milliseconds,
    updatedAt: milliseconds,
    role: z.string().nullable().optional().openapi({
      description:
        "The role at work, where its events tell of one; else that of the last step. Only with details=true.",
    }),
    spent: spentShape.optional().openapi({
      description: "What its own steps spent. Only with details=true.",
    }),
  })
  .openapi("ThreadRow");

export const threadShape = z
  .object({
    threadId,
    workflow: z.string(),
    hash,
    status: statusShape,
    prompt: z.string(),
    params: z.unknown().optional().openapi({
      description: "What it was started with beside the prompt; absent when with nothing.",
    }),
    maxRounds: z.number(),
    createdAt: milliseconds,
    steps: z.array(stepShape),
    result: resultShape,
    forkFrom: forkFromShape,
    pid: z.number().nullable(),
    stepCount: z.number().openapi({ description: "How many steps it has, also with steps=false." }),
    last: stepShape.nullable().openapi({ description: "Its last step." }),
    failure: z
      .looseObject({ name: z.string(), step: z.number() })
      .nullable()
      .openapi({ description: "Why it failed, beside the summary; `step` counts from 1." }),
  })
  .openapi("Thread");

export const liveRowShape = z
  .object({
    threadId,
    workflow: z.string(),
    hash,
    status: statusShape,
    pid: z.number(),
    steps: z.number(),
    role: z.string().nullable(),
    elapsedMs: z.number(),
  })
  .openapi("LiveRow");

export const numberedStepShape = stepShape
  .extend({ number: z.number().openapi({ description: "Counts from 1." }) })
  .openapi("NumberedStep");

export const stepsPageShape = z
  .object({ threadId, total: z.number(), steps: z.array(numberedStepShape) })
  .openapi("StepsPage");

export const logLineShape = z
  .object({
    tag: z.string(),
    content: z.string(),
    timestamp: milliseconds,
    type: z.string().optional().openapi({ description: "An event's type; other lines have none." }),
    stepID: z.string().nullable().optional(),
    payload: z.unknown().optional(),
    seq: z.number().optional(),
    step: z.number().optional().openapi({ description: "The step, from 1, that it comes before." }),
  })
  .openapi("LogLine");

export const logPageShape = z
  .object({
    threadId,
    lines: z.array(logLineShape),
    next: z.number().nullable().openapi({
      description: "Where the next page begins, as `after`; null when there is no more by now.",
    }),
  })
  .openapi("LogPage");

const tallyShape = z.object({
  usage: z.record(z.string(), z.number()),
  ...spentShape.shape,
});

export const ledgerShape = z
  .object({
    total: tallyShape,
    saved: tallyShape,
    lost: tallyShape.openapi({ description: "The part of `total` that no step came of." }),
    unknown: z.number().openapi({
      description: "How many calls of a model broke off before it told all of their tokens.",
    }),
    roles: z.record(z.string(), tallyShape),
    models: z.record(z.string(), tallyShape),
    steps: z.array(
      tallyShape.extend({
        number: z.number(),
        role: z.string(),
        model: z.string().nullable(),
        kind: z.enum(["own", "saved", "lost"]),
      }),
    ),
  })
  .openapi("Ledger");

export const diffShape = z
  .object({
    same: z.boolean(),
    firstDifference: z.number().nullable(),
    prompt: z.object({ a: z.string(), b: z.string(), same: z.boolean() }),
    steps: z.array(
      z.object({
        number: z.number(),
        a: stepShape.nullable(),
        b: stepShape.nullable(),
        same: z.boolean(),
      }),
    ),
  })
  .openapi("ThreadDiff");

export const relativeShape = z
  .object({
    threadId,
    workflow: z.string(),
    hash,
    status: statusShape,
    steps: z.number(),
    createdAt: milliseconds,
    forkFrom: forkFromShape,
  })
  .openapi("Relative");

export const controlledShape = z.object({ threadId }).openapi("Controlled");

export const killedShape = z.object({ threadId, resumed: z.array(threadId) }).openapi("Killed");

export const startedShape = z
  .object({ threadId, workflow: z.string(), hash })
  .openapi("StartedThread");

export const forkedShape = startedShape
  .extend({ forkFrom: z.object({ threadId, steps: z.number() }) })
  .openapi("ForkedThread");
