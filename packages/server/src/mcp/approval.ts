import type { Step, ThreadView } from "@uncaged/workflow/host";
import { isRecord } from "@uncaged/workflow/internal";
import { isApproval } from "@uncaged/workflow/records";

/** Questions with these reasons ask for a decision, whatever their schema. */
const decisions: ReadonlySet<unknown> = new Set([
  "approval",
  "approve",
  "budget",
  "limits",
  "step_failure",
  "tool",
]);
const decisionKeys = ["approve", "approved", "decision"];

/**
 * Tells whether an answer to a `__wait__` step is a decision that belongs to a person: an approval, a tool call, a yes
 * or no, a higher limit, or what follows a failed step of a plan. A model answers it only if it is allowed to.
 */
export function needsPerson({ role, meta }: Pick<Step, "role" | "meta">): boolean {
  if (role !== "__wait__") return false;
  if (decisions.has(meta.for) || isApproval({ for: "", ...meta })) return true;
  const { schema } = meta;
  if (!isRecord(schema)) return false;
  const { type, properties } = schema;
  if (type === "boolean") return true;
  return isRecord(properties) && decisionKeys.some((key) => Object.hasOwn(properties, key));
}

/** Tells whether a step is the answer to a question that {@link needsPerson}. `index` counts from 0. */
export function isDecision({ steps }: Pick<ThreadView, "steps">, index: number): boolean {
  const [asked, step] = [steps[index - 1], steps[index]];
  return step?.role === "__input__" && asked !== undefined && needsPerson(asked);
}
