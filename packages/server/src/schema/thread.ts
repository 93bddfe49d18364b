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
  description: "The attempt that it belongs to; absent in logs of older versions.",
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
  .describe("Of one that was stopped, because it had as many steps as it may have.");
const value = z
  .unknown()
  .optional()
  .openapi({ description: "The JSON value that it returned beside the summary, if any." });
const resultSchema = z.object({ returnCode: number, summary: text, value, reason }).nullable();
const forkFromSchema = z.object({ threadId, steps: number });

/** What a thread spent, as far as it is known; `unpriced` counts the steps without a known cost. */
const spentSchema = z.object({ tokens: number, cost: number, unpriced: number });

const pausing = z
  .literal(true)
  .optional()
  .describe("Of one that runs: it pauses when the step at work has ended.");

const times = {
  workedMs: number.describe("For how long it was worked on, in milliseconds."),
  waitedMs: number.describe("For how long it waited for answers or slept, in milliseconds."),
};

const movedTo = text
  .optional()
  .describe("The host that it has moved to, where it goes on; absent while it is on this one.");

export const threadRowSchema = z
  .object({
    ...version,
    status: statusSchema,
    reason,
    steps: number.describe("How many steps it has."),
    createdAt: milliseconds,
    updatedAt: milliseconds,
    ...times,
    sleepingUntil: milliseconds
      .optional()
      .describe("Until when it sleeps; absent when it does not."),
    movedTo,
    role: text
      .nullable()
      .optional()
      .describe(
        "The role at work, where its events name one; else that of the last step. Only with details=true.",
      ),
    spent: spentSchema.optional().describe("What its own steps spent. Only with details=true."),
  })
  .openapi("ThreadRow");

export const threadSchema = z
  .object({
    ...version,
    status: statusSchema,
    prompt: text,
    params: z.unknown().optional().openapi({
      description: "What it was started with beside the prompt; absent when with nothing.",
    }),
    maxRounds: number,
    createdAt: milliseconds,
    ...times,
    steps: z.array(stepSchema),
    result: resultSchema,
    forkFrom: forkFromSchema.nullable(),
    pid: number.nullable(),
    movedTo,
    stepCount: number.describe("How many steps it has, also with steps=false."),
    last: orNull(stepSchema).describe("Its last step."),
    failure: z
      .looseObject({ name: text, step: number, at: positionSchema.optional() })
      .nullable()
      .describe("Why it failed, beside the summary; `step` counts from 1."),
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
    type: optionalText.describe("An event's type; other lines have none."),
    stepID: text.nullable().optional(),
    payload: z.unknown().optional(),
    seq: optionalNumber,
    attempt: attemptId,
    step: optionalNumber.describe("The step, from 1, that it comes before."),
    sum: optionalText.describe("The checksum of a `journal` event's line; other lines have none."),
  })
  .openapi("LogLine");

export const logPageSchema = z
  .object({
    threadId,
    lines: z.array(logLineSchema),
    next: number
      .nullable()
      .describe("Where the next page begins, as `after`; null when there is no more by now."),
  })
  .openapi("LogPage");

const tallySchema = z.object({ usage: z.record(text, number), ...spentSchema.shape });

export const ledgerSchema = z
  .object({
    total: tallySchema,
    saved: tallySchema,
    lost: tallySchema.describe("The part of `total` that no step came of."),
    unknown: number.describe(
      "How many calls of a model broke off before all of their tokens were reported.",
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
          "The git worktrees of the two, each with its last commits and the files that differ. `patch` is null for a file that is binary or too large, `problem` is why they can't be compared.",
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
      "Processes that a killed worker had left running, and the signal that has ended each; null: it runs on.",
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

/** The data of the events of the host. Upon `reload`, which comes first, a client reads its lists. */
export type HostEvents = {
  thread: z.infer<typeof threadRowSchema>;
  removed: { threadId: string };
  workflows: Record<string, never>;
  reload: Record<string, never>;
};
