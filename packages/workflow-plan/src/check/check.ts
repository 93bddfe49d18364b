import type { DocumentPath } from "@uncaged/workflow/document";
import type { z } from "zod";
import { metadataForm, mostSteps, type PlannerOutput, plannerForm } from "../plan/plan.ts";
import { type Given, givenSteps, type PlanProblem, stepProblems, stepWarnings } from "./steps.ts";
import { isTimeZone, scheduleOf } from "./schedule.ts";

/** A plan with defaults filled in (null if it has errors), its errors and its warnings. */
export type CheckedPlan = {
  plan: PlannerOutput | null;
  errors: PlanProblem[];
  warnings: PlanProblem[];
};

/**
 * Checks a plan from a model or a person. Keys outside the format are dropped. Each violation has its own message,
 * which names the step and the field.
 */
export function checkPlan(value: unknown): CheckedPlan {
  try {
    return checked(value);
  } catch (error) {
    // Thousands of levels of nesting overflow the stack.
    if (!(error instanceof RangeError)) throw error;
    const message = "the plan: is nested too deeply";
    return invalid([{ path: [], step: null, field: "", message }]);
  }
}

function checked(value: unknown): CheckedPlan {
  const steps = givenSteps(value);
  if (steps.length > mostSteps) {
    const message = `steps: must have at most ${mostSteps} steps, not ${steps.length}`;
    return invalid([{ path: ["steps"], step: null, field: "steps", message }]);
  }
  const { data, error } = plannerForm.safeParse(value, { reportInput: true });
  const errors = [
    ...(error?.issues ?? []).map((issue) => problemOf(issue, steps)),
    ...stepProblems(steps),
    ...scheduleProblems(value),
  ];
  if (errors.length > 0 || data === undefined) return invalid(errors);
  return {
    plan: data,
    errors,
    warnings: stepWarnings(steps),
  };
}

/** Checks the part of a plan's metadata that runs use. A model's plan has no metadata. */
export function metadataProblems(value: unknown): PlanProblem[] {
  const { metadata } = (value ?? {}) as { metadata?: unknown };
  if (metadata === undefined) return [];
  const { error } = metadataForm.safeParse(metadata, { reportInput: true });
  return (error?.issues ?? []).map((issue) =>
    problemOf({ ...issue, path: ["metadata", ...issue.path] }, []),
  );
}

const invalid = (errors: PlanProblem[]): CheckedPlan => ({ plan: null, errors, warnings: [] });

/** Prefixes a message with the field and its step. */
const located = (step: string | null, field: string, message: string): string =>
  `${step === null ? "" : `step ${JSON.stringify(step)}: `}${field}: ${message}`;

function problemOf(issue: z.core.$ZodIssue, steps: readonly Given[]): PlanProblem {
  const path = issue.path.map((part) => (typeof part === "symbol" ? "" : part));
  const [first, index, ...rest] = path;
  const isInStep = first === "steps" && typeof index === "number";
  const field = fieldOf(isInStep ? rest : path);
  const step = isInStep ? (steps[index]?.name ?? null) : null;
  const shown = field || (isInStep ? "the step" : "the plan");
  return { path, step, field, message: located(step, shown, reasonOf(issue)) };
}

const fieldOf = (path: DocumentPath): string =>
  path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`))
    .join("")
    .replace(/^\./, "");

function reasonOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is missing";
      return `must be ${words[issue.expected] ?? issue.expected}, not ${kindOf(issue.input)}`;
    case "invalid_value":
      if (issue.input === undefined) return "is missing";
      return `must be ${issue.values.map(String).join(" or ")}, not ${kindOf(issue.input)}`;
    case "invalid_union":
      if (issue.discriminator === undefined) return "must be JSON";
      return "must be poll, cron or manual";
    default:
      return issue.message;
  }
}

const words: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  array: "an array",
  object: "an object",
  record: "an object",
  int: "a whole number",
};

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return JSON.stringify(typeof value === "string" ? value.slice(0, 60) : value) ?? typeof value;
}

function scheduleProblems(value: unknown): PlanProblem[] {
  const { trigger } = (value ?? {}) as { trigger?: unknown };
  const { expression, timezone, type } = (trigger ?? {}) as Record<string, unknown>;
  if (type !== "cron") return [];
  const problem = (key: string, reason: string): PlanProblem => {
    const field = `trigger.${key}`;
    return { path: ["trigger", key], step: null, field, message: `${field}: ${reason}` };
  };
  const problems: PlanProblem[] = [];
  const isZone = typeof timezone === "string" && isTimeZone(timezone);
  if (typeof timezone === "string" && !isZone) {
    const shown = JSON.stringify(timezone.slice(0, 60));
    problems.push(
      problem("timezone", `${shown} is not a time zone: use an IANA name such as Europe/Berlin`),
    );
  }
  if (typeof expression !== "string") return problems;
  try {
    const next = scheduleOf(expression, isZone ? timezone : "UTC").next(Date.now());
    if (next === null) problems.push(problem("expression", "has no future slot: it never fires"));
  } catch (error) {
    problems.push(problem("expression", (error as Error).message));
  }
  return problems;
}
