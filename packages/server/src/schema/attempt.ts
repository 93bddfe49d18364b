import { z } from "@hono/zod-openapi";
import { number, optionalText, text } from "./value.ts";

const time = number.nullable();
const cost = number.nullable();

const usageSchema = z.object({
  input_tokens: number,
  output_tokens: number,
  thinking_tokens: number,
  cache_read_tokens: number,
  cache_write_tokens: number,
});

const turnSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.enum(["thinking", "text"]), text, at: number }),
  z.object({
    kind: z.literal("tool"),
    id: text,
    name: text,
    input: z.unknown(),
    output: z.unknown().optional(),
    status: z.enum(["running", "done", "failed"]),
    continued: z.literal(true).optional(),
    messages: z.array(text),
    at: number,
    endedAt: time,
  }),
]);

/** One part of a path: a construct with its running child, or a step with its child run. */
export const pathPartSchema = z.union([
  z.strictObject({ in: text, run: text }),
  z.strictObject({
    in: text,
    child: text,
    iteration: number.int().min(0).max(1_000_000_000).optional(),
  }),
]);

/** A position in an author's source, counted from 1. */
export const positionSchema = z.object({
  file: text,
  line: number,
  column: number,
  text: optionalText,
  frame: z.object({ from: number, lines: z.array(text) }).optional(),
});

export const attemptSchema = z
  .object({
    attempt: text.describe("The attempt's id; `step-<n>` for a step of an older log."),
    role: text.nullable(),
    path: z.array(pathPartSchema).readonly(),
    parent: optionalText.describe("The attempt that started this attempt."),
    title: optionalText,
    stepID: optionalText,
    step: number.nullable().describe("The number (from 1) of the step that the attempt committed."),
    status: z.enum(["running", "committed", "failed", "skipped", "cancelled", "lost", "parked"]),
    startedAt: time,
    endedAt: time,
    turns: z.array(turnSchema).describe("The actions of the attempt's agent, in order."),
    usage: usageSchema.nullable(),
    cost,
    models: z.record(text, z.object({ usage: usageSchema, cost })).optional(),
    retries: z.array(
      z.object({
        at: number,
        delayMs: number.nullable(),
        error: text,
        attempt: text.optional().describe("The failed attempt at the same step."),
      }),
    ),
    error: z
      .looseObject({ name: text, message: text, at: positionSchema.optional() })
      .nullable()
      .describe("The thrown error; `cause` and `errors` have the same form."),
    session: z.looseObject({ agent: text, session_id: text }).optional(),
    saved: z.boolean().optional().openapi({
      description: "True if a fork copied the attempt, so that another thread paid for it.",
    }),
  })
  .openapi("Attempt");

export const attemptsSchema = z
  .object({ threadId: text, attempts: z.array(attemptSchema) })
  .openapi("Attempts");
