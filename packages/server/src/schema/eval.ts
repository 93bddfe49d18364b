import { outcomes } from "@uncaged/workflow-evals";
import { z } from "@hono/zod-openapi";
import { hash, milliseconds, number, text, threadId } from "./value.ts";

const file = z.object({ file: text, hash });
const outcome = z
  .enum(outcomes)
  .openapi("EvalOutcome")
  .describe(
    "`scored`; or the thread `failed`, `waits` for a person, reached its `budget`, ran out of `rounds`, or is `unscored`.",
  );

export const versionSchema = z
  .object({
    hash,
    workflow: text,
    runs: number.describe("The number of runs with a result."),
    started: number.describe("The number of started runs without a result."),
    passed: number,
    passRate: number.nullable(),
    score: number.nullable().describe("The mean score; a run without a score counts as 0."),
    cost: number.describe("The cost of calls with a known price, in US dollars."),
    unpriced: number.describe("The number of calls without a known price."),
    tokens: number,
    p50Ms: number.nullable(),
    p95Ms: number.nullable(),
    outcomes: z.record(z.enum(outcomes), number),
  })
  .openapi("EvalVersion");

/** Filters for cases: `failing` cases did not pass; `worse` and `better` cases differ from the baseline. */
export const caseFilters = ["all", "worse", "better", "failing", "unscored"] as const;

const headFields = {
  id: hash,
  createdAt: milliseconds,
  dataset: file,
  scorer: file,
  versions: z.array(versionSchema).describe("In the order of their first run."),
};

export const evalRowSchema = z
  .object({ ...headFields, cases: number.describe("The number of its cases.") })
  .openapi("EvalRow");

const runSchema = z
  .object({
    hash,
    n: number.describe("The number of the run of the case, from 1."),
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
    prompt: text.describe("The beginning of its prompt."),
    expected: text.nullable().describe("The beginning of the expected result as JSON."),
    runs: z.array(runSchema),
  })
  .openapi("EvalCase");

export const evalSchema = z
  .object({
    ...headFields,
    baseline: hash.nullable().describe("The version to compare with."),
    changes: z
      .array(z.object({ hash, worse: number, better: number }))
      .describe("For each other version the numbers of worse and better cases."),
    counts: z
      .record(z.enum(caseFilters), number)
      .describe("The number of cases for each value of `show`."),
    cases: z.array(caseSchema).describe("The first cases to `show`."),
  })
  .openapi("Eval");
