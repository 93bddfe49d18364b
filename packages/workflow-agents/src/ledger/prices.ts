import type { ThreadContext, Usage } from "@uncaged/workflow";
import { roundedCost } from "@uncaged/workflow/records";
import { isObject } from "../run/error.ts";
import type { Spent } from "../run/run.ts";
import { invalidPrice, pricesNotJson, pricesNotObject } from "./errors.ts";

/**
 * Prices in US dollars per million tokens. Without the cache prices, the cost of a call that uses the cache is unknown.
 */
export type Rates = { input: number; output: number; cacheRead?: number; cacheWrite?: number };

/** The price of a model. `long` applies to all tokens of a call with more than `above` input tokens. */
export type Price = Rates & { long?: Rates & { above: number } };

/** Prices by model name. */
export type Prices = Readonly<Record<string, Price>>;

type Long = { above: number; input: number; output: number };
type Row = readonly [
  ...[input: number, cacheRead: number, cacheWrite: number | null, output: number],
  long?: Long,
];

// Price factors of a call with more input tokens than `above`.
const haiku: Long = { above: 100_000, input: 5, output: 5 };
const gpt: Long = { above: 272_000, input: 2, output: 1.5 };

/**
 * List prices of November 2026 (platform.claude.com/docs/en/about-claude/pricing and
 * developers.openai.com/api/docs/pricing): standard service, no batch, fast mode or regional surcharge.
 * Cache writes are priced for a lifetime of 5 minutes; a lifetime of an hour costs twice the input.
 */
const rows: Record<string, Row> = {
  "claude-fable-5-2": [8, 0.2, 10, 40],
  "claude-fable-5-1": [10, 0.25, 12.5, 50],
  "claude-fable-5": [10, 1, 12.5, 50],
  "claude-mythos-5-1": [10, 0.25, 12.5, 50],
  "claude-mythos-5": [10, 1, 12.5, 50],
  "claude-opus-5-5": [4, 0.2, 5, 20],
  "claude-opus-5": [5, 0.5, 6.25, 25],
  "claude-opus-4-8": [5, 0.5, 6.25, 25],
  "claude-opus-4-7": [5, 0.5, 6.25, 25],
  "claude-opus-4-6": [5, 0.5, 6.25, 25],
  "claude-opus-4-5": [5, 0.5, 6.25, 25],
  "claude-sonnet-5-5": [2, 0.1, 2.5, 10],
  "claude-sonnet-5": [2, 0.2, 2.5, 10],
  "claude-sonnet-4-6": [3, 0.3, 3.75, 15],
  "claude-sonnet-4-5": [3, 0.3, 3.75, 15],
  "claude-haiku-4-5": [1, 0.1, 1.25, 5],
  "gpt-5.2": [1.75, 0.175, null, 14],
  "gpt-5.1": [1.25, 0.125, null, 10],
  "gpt-5": [1.25, 0.125, null, 10],
  "gpt-5.4-mini": [0.75, 0.075, null, 4.5],
  "gpt-5.4-nano": [0.2, 0.02, null, 1.25],
  "gpt-5-mini": [0.25, 0.025, null, 2],
  "gpt-5-nano": [0.05, 0.005, null, 0.4],
  "gpt-4.1": [2, 0.5, null, 8],
  "gpt-4.1-mini": [0.4, 0.1, null, 1.6],
  "gpt-4.1-nano": [0.1, 0.025, null, 0.4],
  "gpt-4o": [2.5, 1.25, null, 10],
  "gpt-4o-mini": [0.15, 0.075, null, 0.6],
  o3: [2, 0.5, null, 8],
  "o4-mini": [1.1, 0.275, null, 4.4],
  "claude-haiku-5-5": [0.1, 0.01, 0.125, 0.5, haiku],
  "gpt-6-astra": [10, 1, 12.5, 50, gpt],
  "gpt-6.1-sol": [2, 0.1, 2.5, 10, gpt],
  "gpt-6.1-terra": [1, 0.05, 1.25, 5, gpt],
  "gpt-6-sol": [2, 0.2, 2.5, 10, gpt],
  "gpt-6-luna": [0.1, 0.01, 0.125, 0.5, gpt],
  "gpt-5.5": [5, 0.5, null, 30, gpt],
  "gpt-5.4": [2.5, 0.25, null, 15, gpt],
};

/** Models of `scriptedProvider` cost nothing. */
const scripted: Row = [0, 0, 0, 0];

function listPrice([input, cacheRead, cacheWrite, output, long]: Row): Price {
  const times = (of: { input: number; output: number }): Rates => ({
    input: of.input * input,
    cacheRead: of.input * cacheRead,
    ...(cacheWrite !== null && { cacheWrite: of.input * cacheWrite }),
    output: of.output * output,
  });
  const price = times({ input: 1, output: 1 });
  return long ? { ...price, long: { above: long.above, ...times(long) } } : price;
}

/** Returns the names of the models with a list price. */
export const pricedModels = (): string[] => Object.keys(rows);

/**
 * Returns the names under which a price list may have a model: the unchanged name, and the name without a context
 * suffix (`[1m]`), a provider (`us.anthropic.`, `anthropic/`) or a version (`@20250929`, `-20250929`, `-v1:0`).
 */
function namesOf(model: string): string[] {
  const bare = model.replace(/\[[^\]]*\]$/, "");
  const own = bare.replace(/^.*\//, "").replace(/^([a-z]{2,6}\.)?(anthropic|openai)\./, "");
  const plain = own
    .replace(/-v\d+(:\d+)?$/, "")
    .replace(/@(\d{8}|latest|default)$/, "")
    .replace(/-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, "");
  return [model, bare, own, plain];
}

/** Returns the price of a model or its dated snapshot, or null if unknown. `own` prices take precedence. */
export function priceOf(model: string, own: Prices = {}): Price | null {
  const names = namesOf(model);
  const ours = names.find((name) => Object.hasOwn(own, name));
  if (ours !== undefined) return own[ours] ?? null;
  const row =
    model === "scripted" ? scripted : rows[names.find((name) => Object.hasOwn(rows, name)) ?? ""];
  return row ? listPrice(row) : null;
}

/** Returns the cost of one call in US dollars, or null if a price is unknown. */
export function costOf(
  model: string,
  usage: Usage,
  own?: Prices,
  cacheWrites?: "1h",
): number | null {
  const rates = ratesFor(model, usage, own, cacheWrites);
  if (rates === null) return null;
  const parts = [
    [usage.input_tokens, rates.input],
    [usage.output_tokens, rates.output],
    [usage.cache_read_tokens, rates.cacheRead],
    [usage.cache_write_tokens, rates.cacheWrite],
  ] as const;
  let cost = 0;
  for (const [tokens, rate] of parts) {
    if (tokens > 0 && rate === undefined) return null;
    cost += tokens * (rate ?? 0);
  }
  return roundedCost(cost / 1e6);
}

/**
 * Returns a call's spending with its cost: by the user's price, otherwise as the agent reported it, otherwise by the
 * list price.
 */
export function withCost(spent: Spent, prices: Prices): Spent {
  const { model, usage, cost, cacheWrites } = spent;
  const own = Object.hasOwn(prices, model) ? costOf(model, usage, prices) : null;
  return { ...spent, cost: own ?? cost ?? costOf(model, usage, prices, cacheWrites) };
}

/** Returns the maximum cost of a call with these tokens. The call may write its whole input to the cache. */
export function mostCostOf(
  model: string,
  usage: Usage,
  own?: Prices,
  cacheWrites?: "1h",
): number | null {
  const plain = costOf(model, usage, own);
  const cache_write_tokens = usage.cache_write_tokens + usage.input_tokens;
  const all = { ...usage, input_tokens: 0, cache_write_tokens };
  const written = costOf(model, all, own, cacheWrites);
  return plain === null ? null : Math.max(plain, written ?? 0);
}

function ratesFor(model: string, usage: Usage, own: Prices = {}, cacheWrites?: "1h"): Rates | null {
  const price = priceOf(model, own);
  const input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
  const rates = price?.long && input > price.long.above ? price.long : price;
  // The user sets the price of cache writes for the lifetime in use.
  if (!rates || cacheWrites !== "1h" || Object.hasOwn(own, model)) return rates;
  return { ...rates, cacheWrite: 2 * rates.input };
}

const pricesVariable = "UNCAGED_WORKFLOW_PRICES";

/**
 * Returns the user's prices: the thread's option `prices`, and the JSON in `UNCAGED_WORKFLOW_PRICES` in the thread's
 * environment.
 */
export function ownPrices({ options, env }: ThreadContext): Prices {
  const text = env?.[pricesVariable];
  const fromEnv = text ? checked(parsed(text), pricesVariable) : {};
  const fromOptions = options?.prices === undefined ? {} : checked(options.prices, "prices");
  return { ...fromEnv, ...fromOptions };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw pricesNotJson(pricesVariable);
  }
}

function checked(value: unknown, name: string): Prices {
  if (!isObject(value)) throw pricesNotObject(name);
  for (const [model, price] of Object.entries(value)) {
    const violation = violationOf(price);
    if (violation === null) continue;
    throw invalidPrice(name, model, violation);
  }
  return value as Record<string, Price>;
}

const rateNames = ["input", "output", "cacheRead", "cacheWrite"];

function violationOf(price: unknown): string | null {
  if (!isObject(price)) return "is not an object";
  const { long, ...rates } = price;
  const missing = ["input", "output"].find((name) => !(name in rates));
  if (missing !== undefined) return `has no ${missing}`;
  for (const [name, rate] of Object.entries(rates)) {
    if (!rateNames.includes(name)) return `has a ${name}`;
    if (!isAmount(rate)) return `has a ${name} that is not an amount of dollars`;
  }
  if (long === undefined) return null;
  if (!isObject(long) || !isAmount(long.above)) return "has a long without above";
  const { above: _, ...longRates } = long;
  const violation = violationOf(longRates);
  return violation && `has a long that ${violation}`;
}

const isAmount = (value: unknown): boolean =>
  typeof value === "number" && Number.isFinite(value) && value >= 0;
