import { type ThreadJson, WorkflowError } from "@uncaged/workflow/host";
import type { AttemptError } from "@uncaged/workflow/records";
import type { EvalCase } from "./dataset.ts";

/** A thread as a scorer gets it: the log, with cost, tokens and duration. */
export type EvalThread = ThreadJson & { cost: number; tokens: number; durationMs: number };

/** A scorer's judgement. `pass` without `score` scores 1 or 0; a `score` of at least 0.5 without `pass` passes. */
export type Judgement = { score?: number; pass?: boolean; reason?: string };

/** The default export of a scorer file. A score is from 0 to 1. */
export type Scorer = (
  one: Omit<EvalCase, "fixture">,
  thread: EvalThread,
) => number | boolean | Judgement | Promise<number | boolean | Judgement>;

/** A recorded judgement. */
export type Score = { score: number; pass: boolean; reason: string | null };

/** The error of a scorer that gave no score. `thrown` is the error of the scorer's code, with its line. */
export class ScorerError extends WorkflowError {
  readonly thrown: AttemptError | undefined;

  constructor(message: string, thrown?: AttemptError) {
    super({ code: "SCORER_FAILED", message });
    this.thrown = thrown;
  }
}

const passes = 0.5;
const longestReason = 2000;

/** Converts the result of a scorer to a score. @throws Error for an invalid result. */
export function scoreOf(returned: unknown): Score {
  if (typeof returned === "boolean")
    return { score: Number(returned), pass: returned, reason: null };
  if (typeof returned === "number") return scored(returned, undefined, null);
  if (typeof returned !== "object" || returned === null || Array.isArray(returned)) {
    const given = returned === undefined ? "nothing" : JSON.stringify(returned);
    throw new Error(`it returned ${given}, not a number, a boolean or {score, pass, reason}`);
  }
  const { score, pass, reason } = returned as Record<string, unknown>;
  if (pass !== undefined && typeof pass !== "boolean") throw new Error("its pass is not a boolean");
  if (reason !== undefined && typeof reason !== "string")
    throw new Error("its reason is not a string");
  const why = reason?.slice(0, longestReason) ?? null;
  if (score !== undefined) return scored(score, pass, why);
  if (pass !== undefined) return scored(Number(pass), pass, why);
  throw new Error("it returned neither a score nor a pass");
}

function scored(score: unknown, pass: boolean | undefined, reason: string | null): Score {
  if (typeof score === "number" && score >= 0 && score <= 1) {
    return { score, pass: pass ?? score >= passes, reason };
  }
  throw new Error(`its score is ${String(score)}, not a number from 0 to 1`);
}
