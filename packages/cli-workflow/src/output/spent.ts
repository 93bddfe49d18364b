import type { Tally } from "@uncaged/workflow-agents/ledger";
import { count } from "./text.ts";

/** An amount of dollars: four decimals below one dollar, two above. */
export const costText = (cost: number): string => `$${cost.toFixed(cost < 1 ? 4 : 2)}`;

/** A cost in a table; `?` stands for a price that is not known. */
export function costCell({ cost, unpriced }: Tally): string {
  if (unpriced === 0) return costText(cost);
  return cost > 0 ? `${costText(cost)} + ?` : "?";
}

/** A number of tokens: `12,340`. */
export const tokensText = (tokens: number): string => tokens.toLocaleString("en-US");

/** What was spent, in a few words: `12,340 tokens, $0.0125`; "" for nothing. */
export function spentText({ tokens, cost, unpriced }: Omit<Tally, "usage">): string {
  const parts: string[] = [];
  if (tokens > 0) parts.push(count(tokens, "token").replace(String(tokens), tokensText(tokens)));
  if (cost > 0) parts.push(costText(cost));
  if (unpriced > 0) parts.push("a price is not known");
  return parts.join(", ");
}
