import type { Step, ThreadView } from "@uncaged/workflow/host";
import { isRecord } from "@uncaged/workflow/internal";
import { decisionOf } from "@uncaged/workflow/records";

/** Questions with these reasons ask for a decision, whatever their schema. */
const reasons = /^(budget|limits|step_failure|tool)$|approv|confirm/i;
const decisionKeys = ["approve", "approved", "decision"];
/** Keywords that restrict a value. A schema without any of them allows every value. */
const shapes = ["type", "enum", "const", "properties", "items", "anyOf", "oneOf", "allOf", "$ref"];

/**
 * Tells whether an answer to a `__wait__` step is a decision that belongs to a person: an approval, a tool call, a yes
 * or no, a higher limit, or the reaction to a failed step of a plan. A model needs permission (`allowApprove`) to give
 * such an answer. A question whose schema allows every answer can be such a question, so a person must answer it.
 */
export function needsPerson({ role, meta }: Pick<Step, "role" | "meta">): boolean {
  if (role !== "__wait__") return false;
  const { for: reason, schema } = meta;
  return reasons.test(String(reason)) || isOpen(schema) || asksForDecision(schema);
}

/**
 * Tells whether a model's value is a decision. Even the answer to a question for text, or a field of a form, may be "yes"
 * or "reject".
 */
export function isDecided(value: unknown): boolean {
  if (typeof value === "string") {
    const object = objectIn(value);
    if (object !== null) return isDecided(object);
    return decisionOf(value.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "")) !== null;
  }
  if (typeof value !== "object" || value === null) return decisionOf(value) !== null;
  return decisionOf(value) !== null || Object.values(value).some(isDecided);
}

/** Parses a JSON object or array, as the host does for such a schema; null for any other text. */
function objectIn(text: string): object | null {
  if (!/^\s*[{[]/.test(text)) return null;
  try {
    return JSON.parse(text) as object;
  } catch {
    return null;
  }
}

/** Tells whether a schema, or a part of it, allows every value. */
function isOpen(schema: unknown): boolean {
  if (!isRecord(schema) || !shapes.some((name) => Object.hasOwn(schema, name))) return true;
  const { type, properties, items, anyOf, oneOf, $defs } = schema;
  const types = [type].flat();
  if (types.includes("object") && !isRecord(properties)) return true;
  if (types.includes("array") && isOpen(items)) return true;
  const parts = [properties, $defs].flatMap((one) => Object.values(one ?? {}));
  return parts.concat(anyOf ?? [], oneOf ?? []).some(isOpen);
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

/**
 * Tells whether a step answers a question for a person (see {@link needsPerson}), or is an answer with a decision.
 * `index` counts from 0.
 */
export function isDecision({ steps }: Pick<ThreadView, "steps">, index: number): boolean {
  const [asked, step] = [steps[index - 1], steps[index]];
  if (step?.role !== "__input__" || asked === undefined) return false;
  return needsPerson(asked) || isDecided(step.content) || isDecided(step.meta.value);
}
