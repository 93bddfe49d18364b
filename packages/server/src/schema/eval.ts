import { outcomes } from "@uncaged/workflow-evals";
import { z } from "@hono/zod-openapi";
import { hash, milliseconds, number, text, threadId } from "./value.ts";

const file = z.object({ file: text, hash });
const outcome = z
  .enum(outcomes)
  .openapi("EvalOutcome")
  .describe(
    "`scored`; or the thread `failed`, `waits` for a person, would have passed its `budget`, ran out of `rounds`, or was left `unscored`.",
  );

export const versionSchema = z
  .object({
    hash,
    workflow: text,
    runs: number.describe("How many runs have a result."),
    started: number.describe("How many were started and have none yet."),
    passed: number,
    passRate: number.nullable(),
    score: number.nullable().describe("The mean; a run without a score counts as 0."),
    cost: number.describe("In US dollars, as far as prices are known."),
    unpriced: number.describe("How many calls have no known price."),
    tokens: number,
    p50Ms: number.nullable(),
    p95Ms: number.nullable(),
    outcomes: z.record(z.enum(outcomes), number),
  })
  .openapi("EvalVersion");

/** Which cases: `failing` did not pass, `worse` and `better` differ from the baseline. */
export const caseFilters = ["all", "worse", "better", "failing", "unscored"] as const;

const headFields = {
  id: hash,
  createdAt: milliseconds,
  dataset: file,
  scorer: file,
  versions: z.array(versionSchema).describe("In the order in which they were first run."),
};

export const evalRowSchema = z
  .object({ ...headFields, cases: number.describe("How many cases it has.") })
  .openapi("EvalRow");

const runSchema = z
  .object({
    hash,
    n: number.describe("Which run of the case it is, from 1."),
    threadId: threadId.nullable(),
    outcome,
    score: number.nullable(),
    pass: z.boolean(),
    reason: text.nullable(),
    error: z.object({ code: text, message: text }).nullable(),
    cost: number,
    tokens: number,
    durationMs: number.nullable(),
  })
  .openapi("EvalRun");

export const caseSchema = z
  .object({
    id: text,
    prompt: text.describe("Its first characters."),
    expected: text.nullable().describe("What is expected, as JSON, its first characters."),
    runs: z.array(runSchema),
  })
  .openapi("EvalCase");

export const evalSchema = z
  .object({
    ...headFields,
    baseline: hash.nullable().describe("The version that the others are compared with."),
    changes: z
      .array(z.object({ hash, worse: number, better: number }))
      .describe("Of each other version how many cases it does worse, and better."),
    counts: z.record(z.enum(caseFilters), number).describe("How many cases there are to `show`."),
    cases: z.array(caseSchema).describe("The first of those to `show`."),
  })
  .openapi("Eval");
