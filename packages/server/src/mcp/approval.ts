import type { Step, ThreadView } from "@uncaged/workflow/host";
import { isRecord } from "@uncaged/workflow/internal";
import { decisionOf } from "@uncaged/workflow/records";

/** Questions with these reasons ask for a decision, whatever their schema. */
const reasons = /^(budget|limits|step_failure|tool)$|approv|confirm/i;
const decisionKeys = ["approve", "approved", "decision"];

/**
 * Tells whether an answer to a `__wait__` step is a decision that belongs to a person: an approval, a tool call, a yes
 * or no, a higher limit, or what follows a failed step of a plan. A model answers it only if it is allowed to.
 */
export function needsPerson({ role, meta }: Pick<Step, "role" | "meta">): boolean {
  if (role !== "__wait__") return false;
  return reasons.test(String(meta.for)) || asksForDecision(meta.schema);
}

/** Tells whether a schema, or any part of it, accepts a yes or no, or has a field for a decision. */
function asksForDecision(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(asksForDecision);
  if (!isRecord(schema)) return false;
  const { type, properties, enum: options, const: only } = schema;
  if ([type].flat().includes("boolean")) return true;
  if ([options, only].flat().some((value) => decisionOf(value) !== null)) return true;
  if (isRecord(properties) && decisionKeys.some((key) => Object.hasOwn(properties, key)))
    return true;
  return Object.values(schema).some(asksForDecision);
}

/** Tells whether a step is the answer to a question that {@link needsPerson}. `index` counts from 0. */
export function isDecision({ steps }: Pick<ThreadView, "steps">, index: number): boolean {
  const [asked, step] = [steps[index - 1], steps[index]];
  return step?.role === "__input__" && asked !== undefined && needsPerson(asked);
}
