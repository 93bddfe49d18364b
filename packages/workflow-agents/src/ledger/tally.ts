import { addUsage, noUsage, type Usage } from "../run/usage.ts";
import { rounded } from "./prices.ts";

/**
 * What was spent. `tokens` are all of `usage`, `cost` is what is known of the price in US dollars, and
 * `unpriced` counts the steps (each of their models, if a step has several) whose price is not known.
 */
export type Tally = { usage: Usage; tokens: number; cost: number; unpriced: number };

export const noTally: Tally = { usage: noUsage, tokens: 0, cost: 0, unpriced: 0 };

/** All tokens of a usage; thinking is part of the output. */
export const tokensOf = (usage: Usage): number =>
  usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens;

/** The sum of two tallies. */
export const addTally = (a: Tally, b: Tally): Tally => ({
  usage: addUsage(a.usage, b.usage),
  tokens: a.tokens + b.tokens,
  cost: rounded(a.cost + b.cost),
  unpriced: a.unpriced + b.unpriced,
});

/** The tally of one usage; `cost` is null when its price is not known. */
export function tallyOf(usage: Usage, cost: number | null): Tally {
  const tokens = tokensOf(usage);
  return { usage, tokens, cost: cost ?? 0, unpriced: cost === null && tokens > 0 ? 1 : 0 };
}

/** What a step's meta tells of usage and cost; null when that is nothing. */
export function spentOf({ usage, cost }: Record<string, unknown>): Tally | null {
  const counted = usageOf(usage);
  if (counted === null) return null;
  const tally = tallyOf(counted, amountOf(cost));
  return tally.tokens === 0 && tally.cost === 0 ? null : tally;
}

/** A recorded usage, each count that is none as 0; null when it is no object. */
export function usageOf(value: unknown): Usage | null {
  if (!isObject(value)) return null;
  return {
    input_tokens: amountOf(value.input_tokens) ?? 0,
    output_tokens: amountOf(value.output_tokens) ?? 0,
    thinking_tokens: amountOf(value.thinking_tokens) ?? 0,
    cache_read_tokens: amountOf(value.cache_read_tokens) ?? 0,
    cache_write_tokens: amountOf(value.cache_write_tokens) ?? 0,
  };
}

/** A recorded amount; null when it is none. */
export const amountOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;

/** Whether a recorded value is an object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
