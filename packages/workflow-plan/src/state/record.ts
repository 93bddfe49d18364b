import type { RoleOutput } from "@uncaged/workflow";
import type { StepEnvironment } from "../agent/agent.ts";
import type { PlanStep } from "../plan/plan.ts";
import { type Decision, decisions } from "../plan/terms.ts";

/*
 * The records of a run: the role is a step's id, and `event` in the meta is the event of the step. Readers ignore thread
 * steps with an unknown `event` from other programs or later versions.
 */

/** An event of a step. `attempt` counts from 1 and continues when a user requests a retry. */
export type StepRecord =
  | ({
      event: "started";
      attempt: number;
      inputs: unknown;
      sdkSessionId?: string;
    } & StepEnvironment["sandbox"])
  | {
      event: "attempt_failed";
      attempt: number;
      error: string;
      sdkSessionId?: string;
      delayMs: number;
    }
  | {
      event: "succeeded";
      attempt: number;
      sdkSessionId?: string;
      durationMs: number;
      [spent: string]: unknown;
    }
  | { event: "failed"; attempt: number; error: string; cancelled?: true; sdkSessionId?: string }
  | { event: "skipped"; because: string }
  | { event: "subtask"; step: PlanStep; by: string };

const events: readonly unknown[] = [
  ...["started", "attempt_failed", "succeeded", "failed", "skipped", "subtask"],
];

/** Returns a thread's step as a record; null if the step is not a record. */
export const recordOf = ({ meta }: RoleOutput): StepRecord | null =>
  events.includes(meta.event) ? (meta as StepRecord) : null;

/** The meta of the `__wait__` step that asks about a failed step. */
export type FailureQuestion = {
  for: "step_failure";
  stepId: string;
  error: string;
  schema: object;
  token: string;
  onTimeout: "abort";
  expiresAt?: number;
};

/** The schema of an answer: a decision, or an object with a decision (from older versions). */
export const answerSchema = {
  anyOf: [
    { enum: decisions },
    {
      type: "object",
      properties: { decision: { title: "Decision", enum: decisions } },
      required: ["decision"],
    },
  ],
};

/** Returns the decision of an `__input__` step; null if the answer is not a decision. */
export function decisionIn({ content, meta }: RoleOutput): Decision | null {
  const value = Object.hasOwn(meta, "value") ? meta.value : (meta.decision ?? content);
  const given =
    typeof value === "object" && value !== null
      ? (value as { decision?: unknown }).decision
      : value;
  return decisions.find((one) => one === given) ?? null;
}
