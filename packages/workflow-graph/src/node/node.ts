import type { Condition } from "../document/schema.ts";
import { textOf } from "../state/arrivals.ts";
import type { Review } from "../state/review.ts";

/** Evaluates a condition node. Returns the handle to follow, and a log line per tested condition. */
export function decide(
  conditions: readonly Condition[],
  input: unknown,
): { handle: string; log: string[] } {
  const text = textOf(input).toLowerCase();
  const log: string[] = [];
  for (const [index, { operator, value }] of conditions.entries()) {
    const wanted = value.trim().toLowerCase();
    const isContained = operator === "contains" ? text.includes(wanted) : text === wanted;
    const isMatch = wanted !== "" && isContained;
    log.push(`Condition ${index + 1} (${operator} "${value}") evaluated as ${isMatch}`);
    if (isMatch) return { handle: `condition-${index}`, log };
  }
  return { handle: "false", log };
}

/** Parts of an agent's prompt. */
export type PromptParts = {
  userPrompt: string;
  input: unknown;
  reviews: readonly Review[];
  /** Last text of the run, without answers to approvals. */
  latestText: string;
};

const placeholder = /\{\{(PREVIOUS_OUTPUT|APPROVAL_DECISION|APPROVAL_NOTE)\}\}/g;

/**
 * Fills the placeholders of an agent's prompt in one pass. Appends an approval's note if the prompt has no placeholder
 * for it.
 */
export function promptOf({ userPrompt, input, reviews, latestText }: PromptParts): string {
  const previous = textOf(isAnswer(input) ? latestText : input);
  const last = reviews.at(-1);
  const values: Record<string, string> = {
    PREVIOUS_OUTPUT: previous,
    APPROVAL_DECISION: last?.decision ?? "",
    APPROVAL_NOTE: last?.note ?? "",
  };
  const isBlank = userPrompt.trim() === "";
  const filled = isBlank
    ? previous
    : userPrompt.replace(placeholder, (_, name: string) => values[name] ?? "");
  const isPlaced = !isBlank && userPrompt.includes("{{APPROVAL_NOTE}}");
  const notes = reviews
    .filter((review) => review.note.trim() !== "" && !(isPlaced && review === last))
    .map(({ decision, note }) => `Reviewer feedback (${words[decision]}): ${note}`);
  return [filled, ...notes].filter((part) => part !== "").join("\n\n");
}

const words = { approve: "approved", reject: "rejected" } as const;

const isAnswer = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  (Object.hasOwn(value, "decision") || Object.hasOwn(value, "note"));
