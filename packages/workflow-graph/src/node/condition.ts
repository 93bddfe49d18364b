import type { Condition } from "../document/schema.ts";
import { textOf } from "../state/arrivals.ts";

/** What a condition node decides: the handle that is followed, and a line for each condition that was tested. */
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
