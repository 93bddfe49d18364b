import { scheduleOf } from "../check/schedule.ts";
import { givenSteps, stepWarnings } from "../check/steps.ts";
import { stepLines } from "../plan/definition.ts";
import type { TriggerConfig, Workflow } from "../plan/plan.ts";
import { offeredNames, secretsFor } from "../secret/secret.ts";
import { type TriggerState, isoOf } from "../trigger/state.ts";

/** The facts that a person needs to confirm a plan, in addition to its steps. */
export type PlanPreview = {
  trigger: string;
  /** The next slots of a cron trigger. */
  nextFires: string[];
  /** The credentials that the steps and the check script use, and whether they are stored. */
  credentials: { name: string; known: boolean }[];
  /** The sandbox of the steps on one line; null if it was not checked. */
  sandbox: string | null;
  /** The sandbox of the steps as a list of facts. */
  sandboxFacts: string[];
  /** The warnings of the plan's check. */
  warnings: string[];
};

const shownFires = 3;

/** Returns the preview of a plan. `secrets` are the known credentials. */
export function previewOf(
  workflow: Workflow,
  given: { secrets: Readonly<Record<string, string>>; sandbox?: readonly string[]; now: number },
): PlanPreview {
  const { secrets, sandbox, now } = given;
  const { steps, trigger } = workflow;
  const texts = steps.map(({ description, inputs }) => `${description}\n${JSON.stringify(inputs)}`);
  if (trigger.type === "poll") texts.push(trigger.check_script);
  const words = texts.join("\n").match(/\b[A-Z][A-Z0-9_]*\b/g) ?? [];
  const offered = offeredNames(Object.fromEntries(words.map((word) => [word, "named"])));
  const stored = Object.keys(secretsFor(texts, secrets));
  const names = [...new Set([...stored, ...offered])].toSorted();
  return {
    trigger: triggerText(trigger),
    nextFires: nextSlots(trigger, now),
    credentials: names.map((name) => ({ name, known: Object.hasOwn(secrets, name) })),
    sandbox: sandbox?.join("; ") ?? null,
    sandboxFacts: [...(sandbox ?? [])],
    warnings: stepWarnings(givenSteps(workflow)).map(({ message }) => message),
  };
}

/** Formats a plan with its preview as lines for a person. */
export function previewText(workflow: Workflow, preview: PlanPreview): string {
  const { nextFires, credentials, sandboxFacts, trigger } = preview;
  const names = credentials.map(({ known, name }) => (known ? name : `${name} (not stored)`));
  return [
    workflow.name,
    ...stepLines(workflow),
    `Trigger: ${trigger}`,
    ...(nextFires.length === 0 ? [] : [`Next: ${nextFires.join(", ")}`]),
    ...(names.length === 0 ? [] : [`Credentials: ${names.join(", ")}`]),
    ...(sandboxFacts.length === 0 ? [] : [`Sandbox: ${sandboxFacts.join("\n- ")}`]),
  ].join("\n");
}

/** Describes a trigger in a few words, for a person. */
export function triggerText(trigger: TriggerConfig): string {
  if (trigger.type === "manual") return "manual";
  if (trigger.type === "cron") return `cron ${trigger.expression} (${trigger.timezone ?? "UTC"})`;
  return `poll every ${trigger.interval_seconds} s: ${trigger.check_script}`;
}

function nextSlots(trigger: TriggerConfig, now: number): string[] {
  if (trigger.type !== "cron") return [];
  const schedule = scheduleOf(trigger.expression, trigger.timezone);
  const slots: string[] = [];
  for (let slot = schedule.next(now); slot !== null; slot = schedule.next(slot)) {
    slots.push(isoOf(slot));
    if (slots.length === shownFires) break;
  }
  return slots;
}

/** Returns the next due time of a plan's trigger, or null if the plan does not wait for its trigger. */
export function nextDue({ phase, trigger }: Workflow, state: TriggerState | null): string | null {
  if (!state || (phase !== "active" && phase !== "executing")) return null;
  if (trigger.type === "cron") return state.last_result;
  if (trigger.type === "manual" || state.last_check_at === null) return null;
  return isoOf(Date.parse(state.last_check_at) + trigger.interval_seconds * 1000);
}
