import { z } from "@hono/zod-openapi";

const time = z.number().nullable();

const usageSchema = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  thinking_tokens: z.number(),
  cache_read_tokens: z.number(),
  cache_write_tokens: z.number(),
});

const turnSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.enum(["thinking", "text"]), text: z.string(), at: z.number() }),
  z.object({
    kind: z.literal("tool"),
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
    output: z.unknown().optional(),
    status: z.enum(["running", "done", "failed"]),
    messages: z.array(z.string()),
    at: z.number(),
    endedAt: time,
  }),
]);

/** One part of a path: a construct with the child that ran in it, or the child run that it called. */
export const pathPartSchema = z.union([
  z.strictObject({ in: z.string(), run: z.string() }),
  z.strictObject({
    in: z.string(),
    child: z.string(),
    iteration: z.number().int().min(0).max(1_000_000_000).optional(),
  }),
]);

export const attemptSchema = z
  .object({
    attempt: z.string().openapi({ description: "Its id; `step-<n>` for a step of an older log." }),
    role: z.string().nullable(),
    path: z.array(pathPartSchema).readonly(),
    parent: z.string().optional().openapi({ description: "The attempt that it was opened in." }),
    title: z.string().optional(),
    stepID: z.string().optional(),
    step: z.number().nullable().openapi({ description: "The step that it committed, from 1." }),
    status: z.enum(["running", "committed", "failed", "skipped", "cancelled", "lost"]),
    startedAt: time,
    endedAt: time,
    turns: z.array(turnSchema).openapi({ description: "What its agent did, in order." }),
    usage: usageSchema.nullable(),
    cost: z.number().nullable(),
    models: z
      .record(z.string(), z.object({ usage: usageSchema, cost: z.number().nullable() }))
      .optional(),
    retries: z.array(
      z.object({ at: z.number(), delayMs: z.number().nullable(), error: z.string() }),
    ),
    error: z.looseObject({ name: z.string(), message: z.string() }).nullable(),
    session: z.looseObject({ agent: z.string(), session_id: z.string() }).optional(),
    saved: z.boolean().optional().openapi({
      description: "True when a fork copied it: another thread paid for it.",
    }),
  })
  .openapi("Attempt");

export const attemptsSchema = z
  .object({ threadId: z.string(), attempts: z.array(attemptSchema) })
  .openapi("Attempts");
