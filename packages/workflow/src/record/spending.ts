import { isRecord } from "../contract/show.ts";
import {
  addUsage,
  noUsage,
  readAmount,
  readUsage,
  totalTokens,
  type Usage,
} from "../contract/usage.ts";

/** Usage and cost. `cost` is in US dollars, null when a price is unknown. */
export type Spent = { usage: Usage; cost: number | null };

/** One model call. It is `open` while it runs, and `broken` if it was cut off before its tokens were counted. */
export type Call = Spent & { model: string; state: "open" | "whole" | "broken" };

/** Sums the usage and cost of calls by model. */
export function sumByModel(calls: readonly Call[]): Record<string, Spent> {
  const models = new Map<string, Spent>();
  for (const { model, usage, cost } of calls) {
    // A call without reported tokens costs nothing, so its price is not unknown.
    const known = totalTokens(usage) === 0 ? (cost ?? 0) : cost;
    const sum = models.get(model) ?? { usage: noUsage, cost: 0 };
    models.set(model, { usage: addUsage(sum.usage, usage), cost: addCost(sum.cost, known) });
  }
  return Object.fromEntries(models);
}

/** Returns the sum of two costs, without the rounding errors of binary fractions; null when one is unknown. */
export function addCost(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.round((a + b) * 1e12) / 1e12;
}

type Spending = { models: Record<string, Spent>; model: string | null };

/**
 * Returns the spending in a step's meta: `usage`, `cost`, `model`, and `models` if the step called several models. Adds
 * the spending in `__durable__`, the helper's own data, for work that does not return its spending.
 */
export function spendingOf(meta: Record<string, unknown>): Spending | null {
  const mark = isRecord(meta.__durable__) ? meta.__durable__ : {};
  const [own, more] = [spendingIn(meta), isRecord(mark.spent) ? spendingIn(mark.spent) : null];
  if (own === null || more === null) return own ?? more;
  const models = { ...own.models };
  for (const [name, { usage, cost }] of Object.entries(more.models)) {
    const sum = models[name] ?? { usage: noUsage, cost: 0 };
    models[name] = { usage: addUsage(sum.usage, usage), cost: addCost(sum.cost, cost) };
  }
  return { models, model: more.model ?? own.model };
}

function spendingIn(meta: Record<string, unknown>): Spending | null {
  const usage = readUsage(meta.usage);
  if (usage === null) return null;
  const model = textOr(meta.model, null);
  const parts = Object.entries(isRecord(meta.models) ? meta.models : {}).flatMap(([name, part]) => {
    const counted = isRecord(part) ? readUsage(part.usage) : null;
    return counted
      ? [[name, { usage: counted, cost: readAmount((part as Spent).cost) }] as const]
      : [];
  });
  const single = { [model ?? "unknown"]: { usage, cost: readAmount(meta.cost) } };
  return { model, models: parts.length > 0 ? Object.fromEntries(parts) : single };
}

/** Returns a value if it is a text, else `other`. */
export const textOr = <Other>(value: unknown, other: Other): string | Other =>
  typeof value === "string" ? value : other;
