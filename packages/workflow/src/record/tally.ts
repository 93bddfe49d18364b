import { addUsage, noUsage, totalTokens, type Usage } from "../contract/usage.ts";

/**
 * An amount spent. `cost` is the known part in US dollars. `unpriced` counts the attempts with an unknown price, once
 * for each model.
 */
export type Tally = { usage: Usage; tokens: number; cost: number; unpriced: number };

/** An empty tally. */
export const noTally: Tally = { usage: noUsage, tokens: 0, cost: 0, unpriced: 0 };

/** Adds two tallies. Costs are in US dollars, rounded like the costs of a ledger. */
export const addTally = (a: Tally, b: Tally): Tally => ({
  usage: addUsage(a.usage, b.usage),
  tokens: a.tokens + b.tokens,
  cost: roundedCost(a.cost + b.cost),
  unpriced: a.unpriced + b.unpriced,
});

/** Returns the tally of one usage. `cost` is null if its price is unknown. */
export function tallyOf(usage: Usage, cost: number | null): Tally {
  const tokens = totalTokens(usage);
  return { usage, tokens, cost: cost ?? 0, unpriced: cost === null && tokens > 0 ? 1 : 0 };
}

/** Rounds a cost in US dollars, to remove the rounding errors of binary fractions. */
export const roundedCost = (cost: number): number => Math.round(cost * 1e10) / 1e10;
