/** A person's decision on an approval. */
export type Decision = { decision: "approve" | "reject"; note: string };

/**
 * Reads the decision that an answer is: a word, a boolean, or an object with `decision` or a boolean `approved`, and
 * perhaps a `note`. Words are trimmed and match in any case. Returns null for anything else, also where `decision` and
 * `approved` contradict each other: null must never count as an approval.
 */
export function decisionOf(value: unknown): Decision | null {
  if (typeof value !== "object") return decided(wordOf(value), "");
  if (value === null || Array.isArray(value)) return null;
  const { approved, decision, note } = value as Record<string, unknown>;
  const word = decision === undefined ? wordOf(approved) : wordOf(decision);
  if (approved !== undefined && approved !== (word === "approve")) return null;
  return decided(word, typeof note === "string" ? note : "");
}

const decided = (word: Decision["decision"] | null, note: string): Decision | null =>
  word && { decision: word, note };

function wordOf(value: unknown): Decision["decision"] | null {
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
