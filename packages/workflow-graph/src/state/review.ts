export type Decision = "approve" | "reject";

/** The answer to an approval. */
export type ApprovalInput = { decision: Decision; note: string };

/** An answer, and the approval that it was given to. */
export type Review = ApprovalInput & { nodeId: string };

/** What an answer means, whatever its form: a text with "reject" in it rejects, and so does such a `decision`. */
export function decisionOf(answer: unknown): ApprovalInput {
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
