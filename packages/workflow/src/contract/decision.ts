import type { WaitMeta } from "./contract.ts";
import { isRecord } from "./show.ts";

/** A person's decision on a question that asks for an approval. */
export type ApprovalDecision = { decision: "approve" | "reject"; note: string };

/**
 * Parses a decision from an answer: a word, a boolean, or an object with `decision` or a boolean `approved`, and
 * optionally a `note`. Words are trimmed and match in any case. Returns null for any other answer, also if `decision`
 * and `approved` contradict each other. Callers must never count null as an approval.
 */
export function decisionOf(value: unknown): ApprovalDecision | null {
  if (typeof value !== "object") return decided(wordOf(value), "");
  if (value === null || Array.isArray(value)) return null;
  const { approved, decision, note } = value as Record<string, unknown>;
  const word = decision === undefined ? wordOf(approved) : wordOf(decision);
  if (approved !== undefined && approved !== (word === "approve")) return null;
  return decided(word, typeof note === "string" ? note : "");
}

const decided = (
  word: ApprovalDecision["decision"] | null,
  note: string,
): ApprovalDecision | null => word && { decision: word, note };

function wordOf(value: unknown): ApprovalDecision["decision"] | null {
  switch (typeof value === "string" ? value.trim().toLowerCase() : value) {
    case "approve":
    case "approved":
    case "yes":
    case "true":
    case true:
      return "approve";
    case "reject":
    case "rejected":
    case "no":
    case "false":
    case false:
      return "reject";
    default:
      return null;
  }
}

/**
 * Converts an answer to an approval or a tool call question to the value that fits the question. Returns null if the
 * value is not a decision, and undefined for other questions, which accept any value that fits their schema.
 */
export function decidedValue(wait: WaitMeta, value: unknown): unknown {
  const { properties } = isRecord(wait.schema) ? wait.schema : {};
  if (!isRecord(properties)) return undefined;
  if (wait.for === "tool" && isRecord(properties.approve)) return callDecision(value);
  if (!isApproval(wait)) return undefined;
  const given = decisionOf(value);
  if (!given || Object.hasOwn(properties, "note")) return given;
  return { decision: given.decision };
}

/** Parses a decision on a tool call, which may include a changed input or a reason. */
function callDecision(value: unknown): unknown {
  if (isRecord(value) && Object.hasOwn(value, "approve")) return value;
  const given = decisionOf(value);
  if (!given) return null;
  const { decision, note } = given;
  return { approve: decision === "approve", ...(note.trim() !== "" && { reason: note }) };
}

/**
 * Returns whether a question asks for an approval: its schema has a `decision` of `approve` or `reject`, and no other
 * field but `note`.
 */
export function isApproval({ schema }: WaitMeta): boolean {
  if (!isRecord(schema) || !isRecord(schema.properties)) return false;
  const { decision, note: _, ...others } = schema.properties;
  const options: unknown = isRecord(decision) ? decision.enum : undefined;
  if (!Array.isArray(options) || options.length !== 2 || Object.keys(others).length > 0)
    return false;
  return options.includes("approve") && options.includes("reject");
}
