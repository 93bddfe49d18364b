import type { Review } from "../state/review.ts";
import { textOf } from "../state/arrivals.ts";

/** What an agent's prompt is made of. */
export type PromptParts = {
  userPrompt: string;
  input: unknown;
  reviews: readonly Review[];
  /** The last text of the run that is no approval's. */
  latestText: string;
};

const placeholder = /\{\{(PREVIOUS_OUTPUT|APPROVAL_DECISION|APPROVAL_NOTE)\}\}/g;

/**
 * What an agent is asked: its prompt with what it names, filled in in one pass. A note of an approval that the
 * prompt does not place is added at the end.
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
