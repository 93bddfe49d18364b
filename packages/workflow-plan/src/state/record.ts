import type { RoleOutput } from "@uncaged/workflow";
import type { StepEnvironment } from "../agent/agent.ts";
import type { PlanStep } from "../plan/plan.ts";
import { type Decision, decisions } from "../plan/terms.ts";

/*
 * The records of a run: a role is a step's id, and `event` in its meta is the event of the step. Records of other
 * programs, or of a later version, are not records of a step.
 */

/** An event of a step. `attempt` counts from 1, also across the series that a user requested. */
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

/** Returns a thread's step as a record, or null for other steps. */
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

/** The schema of an answer: a decision, or the object with a decision that older versions send. */
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

/** Returns the decision of an `__input__` step, or null if it is not a decision. */
export function decisionIn({ content, meta }: RoleOutput): Decision | null {
  const value = Object.hasOwn(meta, "value") ? meta.value : (meta.decision ?? content);
  const given =
    typeof value === "object" && value !== null
      ? (value as { decision?: unknown }).decision
      : value;
  return decisions.find((one) => one === given) ?? null;
}
