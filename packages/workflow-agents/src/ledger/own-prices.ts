import { type ThreadContext, WorkflowError } from "@uncaged/workflow";
import type { Price, Prices } from "./prices.ts";

/** The variable of the thread's environment that holds prices as JSON. */
export const pricesVariable = "UNCAGED_WORKFLOW_PRICES";

/**
 * The prices that come before the built-in ones: those of the thread's option `prices`, and those of
 * `UNCAGED_WORKFLOW_PRICES` in its environment, a JSON text: `{"my-model": {"input": 1, "output": 2}}`.
 *
 * @throws WorkflowError `BAD_PRICES` when they are not of that form.
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
    throw badPrices(`${pricesVariable} is no JSON`);
  }
}

function checked(value: unknown, name: string): Prices {
  if (!isObject(value)) throw badPrices(`${name} is no object of prices by model`);
  for (const [model, price] of Object.entries(value)) {
    const fault = faultOf(price);
    if (fault !== null) throw badPrices(`${name}: the price of ${JSON.stringify(model)} ${fault}`);
  }
  return value as Record<string, Price>;
}

function faultOf(price: unknown): string | null {
  if (!isObject(price)) return "is no object";
  const { long, ...rates } = price;
  for (const name of ["input", "output"]) {
    if (!(name in rates)) return `has no ${name}`;
  }
  for (const [name, rate] of Object.entries(rates)) {
    if (!["input", "output", "cacheRead", "cacheWrite"].includes(name)) return `has a ${name}`;
    if (!isAmount(rate)) return `has a ${name} that is no number of dollars`;
  }
  if (long === undefined) return null;
  if (!isObject(long) || !isAmount(long.above)) return "has a long without above";
  const { above: _, ...longRates } = long;
  const fault = faultOf(longRates);
  return fault === null ? null : `has a long that ${fault}`;
}

const isAmount = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value >= 0;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const badPrices = (message: string): WorkflowError =>
  new WorkflowError({
    code: "BAD_PRICES",
    kind: "usage",
    message,
    hint: 'give dollars per million tokens: {"my-model": {"input": 1, "output": 5, "cacheRead": 0.1, "cacheWrite": 1.25}}',
  });
