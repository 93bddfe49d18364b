import { type ApprovalDecision, decisionOf } from "@uncaged/workflow/interpreter";
import type { JsonSchema } from "@uncaged/workflow";

/** The answer to an approval. */
export type ApprovalInput = ApprovalDecision;

/** An answer, with the approval that it belongs to. */
export type Review = ApprovalInput & { nodeId: string };

/** An approval's question. The schema shows which version asked it. */
type Asked = { schema?: JsonSchema & { required?: unknown } };

/** Returns the decision in a recorded answer to an approval; null without a decision: the approval still waits. */
export const reviewOf = (asked: Asked, answer: unknown): ApprovalInput | null =>
  isOld(asked) ? oldDecision(answer) : decisionOf(answer);

/** Tells whether an earlier version asked. Earlier versions did not require a decision. */
const isOld = ({ schema }: Asked): boolean => schema?.required === undefined;

/** Treats any answer except a rejection as an approval: threads of earlier versions must replay identically. */
function oldDecision(answer: unknown): ApprovalInput {
  if (typeof answer === "string") {
    return { decision: /reject/i.test(answer) ? "reject" : "approve", note: "" };
  }
  const { decision, note } = (answer ?? {}) as { decision?: unknown; note?: unknown };
  const isRejected = typeof decision === "string" && decision.toLowerCase() === "reject";
  return {
    decision: isRejected ? "reject" : "approve",
    note: typeof note === "string" ? note : "",
  };
}
