import { z } from "@hono/zod-openapi";
import { statuses } from "@uncaged/workflow/host";
import { positionSchema } from "./attempt.ts";
import {
  fields,
  hash,
  milliseconds,
  number,
  optionalNumber,
  optionalText,
  orNull,
  text,
  threadId,
} from "./value.ts";

const attemptId = optionalText.openapi({
  description: "Its attempt; absent in logs of older versions.",
  example: "01JD0Q8ZC4T9M",
});

export const statusSchema = z.enum(statuses).openapi("Status");

export const stepSchema = z
  .object({ role: text, content: text, meta: fields, timestamp: milliseconds, attempt: attemptId })
  .openapi("Step");

const version = { threadId, workflow: text, hash };
const reason = z
  .literal("maxRounds")
  .optional()
  .describe("Present for a thread that reached its limit of steps.");
const value = z.unknown().optional().openapi({ description: "The returned JSON value, if any." });
const resultSchema = z.object({ returnCode: number, summary: text, value, reason }).nullable();
const forkFromSchema = z.object({ threadId, steps: number });

/** The known spending of a thread. `unpriced` counts the steps without a known cost. */
const spentSchema = z.object({ tokens: number, cost: number, unpriced: number });

const pausing = z
  .literal(true)
  .optional()
  .describe("True for a running thread that pauses after its current step.");

const times = {
  workedMs: number.describe("The time of work, in milliseconds."),
  waitedMs: number.describe("The time of waits for answers and of sleep, in milliseconds."),
};

const movedTo = text
  .optional()
  .describe("The host that the thread has moved to; absent if the thread is on this host.");

export const threadRowSchema = z
  .object({
    ...version,
    status: statusSchema,
    reason,
    steps: number.describe("The number of its steps."),
    createdAt: milliseconds,
    updatedAt: milliseconds,
    ...times,
    sleepingUntil: milliseconds
      .optional()
      .describe("The end of the thread's sleep; absent if the thread does not sleep."),
    movedTo,
    subject: text.describe(
      "The first line of the prompt, else the params, else the workflow's name; at most 200 characters.",
    ),
    at: z
      .object({
        role: text
          .nullable()
          .describe(
            "The failed role, the role that asks, the running role, or the role of the last step.",
          ),
        text: text
          .nullable()
          .describe("The first line of the error or question, at most 200 characters."),
      })
      .describe("The current position of the thread."),
    spent: spentSchema.describe(
      "The spending of the thread's own steps, and of its lost and running attempts.",
    ),
    hasError: z.boolean().describe("Whether the thread, or one of its attempts, failed."),
  })
  .openapi("ThreadRow");

const percentile = number.nullable();

export const summarySchema = z
  .object({
    hours: z.array(
      z.object({
        at: milliseconds.describe("The start of the hour, in milliseconds since the epoch."),
        runs: number,
        failed: number,
        p50Ms: percentile.describe("The median `workedMs` of ended threads; null without one."),
        p95Ms: percentile,
        cost: number,
      }),
    ),
  })
  .openapi("ThreadSummary");

export const threadSchema = z
  .object({
    ...version,
    status: statusSchema,
    prompt: text,
    params: z.unknown().optional().openapi({
      description: "The params of its start; absent without params.",
    }),
    maxRounds: number,
    limits: z
      .object({ maxCost: optionalNumber, maxTokens: optionalNumber })
      .optional()
      .describe("The most dollars and tokens that its agents may spend."),
    createdAt: milliseconds,
    ...times,
    steps: z.array(stepSchema),
    result: resultSchema,
    forkFrom: forkFromSchema.nullable(),
    pid: number.nullable(),
    movedTo,
    stepCount: number.describe("The number of its steps, also with steps=false."),
    last: orNull(stepSchema).describe("Its last step."),
    failure: z
      .looseObject({ name: text, step: number, at: positionSchema.optional() })
      .nullable()
      .describe("The error of a failed thread; `step` counts from 1."),
  })
  .openapi("Thread");

export const liveRowSchema = z
  .object({
    ...version,
    status: statusSchema,
    pid: number,
    steps: number,
    role: text.nullable(),
    elapsedMs: number,
    ...times,
    sleepingUntil: milliseconds.optional(),
    pausing,
  })
  .openapi("LiveRow");

export const numberedStepSchema = stepSchema
  .extend({ number: number.describe("Counts from 1.") })
  .openapi("NumberedStep");

export const stepsPageSchema = z
  .object({ threadId, total: number, steps: z.array(numberedStepSchema) })
  .openapi("StepsPage");

export const logLineSchema = z
  .object({
    tag: text,
    content: text,
    timestamp: milliseconds,
    type: optionalText.describe("The type of an event; absent on other lines."),
    stepID: text.nullable().optional(),
    payload: z.unknown().optional(),
    seq: optionalNumber,
    attempt: attemptId,
    step: optionalNumber.describe("The number (from 1) of the step that it precedes."),
    sum: optionalText.describe("The checksum of a `journal` event's line; absent on other lines."),
  })
  .openapi("LogLine");

export const logPageSchema = z
  .object({
    threadId,
    lines: z.array(logLineSchema),
    next: number
      .nullable()
      .describe("The `after` of the next page; null if there are no more lines yet."),
  })
  .openapi("LogPage");

const tallySchema = z.object({ usage: z.record(text, number), ...spentSchema.shape });

export const ledgerSchema = z
  .object({
    total: tallySchema,
    saved: tallySchema,
    lost: tallySchema.describe("The part of `total` that led to no step."),
    unknown: number.describe(
      "The number of model calls that were cut off before all of their tokens were reported.",
    ),
    roles: z.record(text, tallySchema),
    models: z.record(text, tallySchema),
    attempts: z.array(
      tallySchema.extend({
        attempt: text,
        step: number.nullable(),
        role: text,
        model: text.nullable(),
        kind: z.enum(["own", "saved", "lost"]),
      }),
    ),
  })
  .openapi("Ledger");

const step = orNull(stepSchema);

export const diffSchema = z
  .object({
    same: z.boolean(),
    firstDifference: number.nullable(),
    prompt: z.object({ a: text, b: text, same: z.boolean() }),
    steps: z.array(z.object({ number, a: step, b: step, same: z.boolean() })),
    files: z
      .array(
        z.object({
          name: text,
          repository: text,
          a: text,
          b: text,
          files: z.array(
            z.object({
              path: text,
              from: text.nullable(),
              change: z.enum(["added", "removed", "changed", "renamed"]),
              patch: text.nullable(),
            }),
          ),
          problem: text.nullable(),
        }),
      )
      .openapi({
        description:
          "The git worktrees of both threads, each with its last commits and the differing files. `patch` is null for a binary or large file. `problem` says why they can't be compared.",
      }),
  })
  .openapi("ThreadDiff");

export const relativeSchema = threadRowSchema
  .omit({ updatedAt: true })
  .extend({ forkFrom: forkFromSchema.nullable() })
  .openapi("Relative");

const orphans = z
  .array(
    z.object({
      pid: z.int(),
      command: z.string(),
      ended: z.enum(["SIGTERM", "SIGKILL"]).nullable(),
    }),
  )
  .optional()
  .openapi({
    description:
      "Processes that a killed worker left running, with the signal that ended each; null: it still runs.",
  });
export const controlledSchema = z.object({ threadId, orphans }).openapi("Controlled");
export const killedSchema = controlledSchema
  .extend({ resumed: z.array(threadId) })
  .openapi("Killed");
const named = z.object({ threadId, hash, workflow: z.string() });
export const recoveredSchema = z
  .object({ resumed: z.array(named), left: z.array(named.extend({ reason: z.string() })) })
  .openapi("Recovered");
export const stoppedAllSchema = z
  .object({
    stopped: z.array(named),
    failed: z.array(z.object({ threadId, hash, error: z.looseObject({ message: z.string() }) })),
  })
  .openapi("StoppedAll");
export const startedSchema = z.object(version).openapi("StartedThread");
export const forkedSchema = startedSchema
  .extend({ forkFrom: forkFromSchema })
  .openapi("ForkedThread");

type Thread = z.infer<typeof threadSchema>;
type Version = "threadId" | "workflow" | "hash";

/** The data of the events of a thread. The ids of `start`, `step`, `event` and `end` are cursors. */
export type ThreadEvents = {
  start: Pick<Thread, Version | "prompt" | "maxRounds" | "createdAt" | "forkFrom">;
  step: z.infer<typeof numberedStepSchema>;
  event: z.infer<typeof logLineSchema>;
  status: { status: Thread["status"]; pausing?: true };
  end: Pick<Thread, "status" | "result">;
  removed: { threadId: string };
};

/** The data of the host's events. After `reload`, which comes first, a client must read its lists again. */
export type HostEvents = {
  thread: z.infer<typeof threadRowSchema>;
  removed: { threadId: string };
  workflows: Record<string, never>;
  reload: Record<string, never>;
};
