import {
  addUsage,
  type JsonSchema,
  noUsage,
  type ThreadContext,
  type Usage,
} from "@uncaged/workflow";
import { openAccount } from "../ledger/budget.ts";
import { ownPrices, type Prices, rounded, withCost } from "../ledger/prices.ts";
import { misuse } from "../run/error.ts";
import { type RoleRun, withRun } from "../run/run.ts";

/**
 * What a step spent, in its meta. `model` is the last that was called, null when none was; `cost` is
 * in US dollars, null when a price is not known. `models` has each when there were several.
 * `agent` is what agents keep for the role's later steps.
 */
export type Spending = {
  usage: Usage;
  model: string | null;
  cost: number | null;
  models?: Record<string, { usage: Usage; cost: number | null }>;
  agent?: Record<string, unknown>;
};

type Sum = { usage: Usage; cost: number | null };

const nothing: Sum = { usage: noUsage, cost: 0 };

const add = (a: Sum, b: Sum): Sum => ({
  usage: addUsage(a.usage, b.usage),
  cost: a.cost === null || b.cost === null ? null : rounded(a.cost + b.cost),
});

/** What a run has spent so far. */
export function runSpending({ spent, memory, path = [] }: RoleRun, prices: Prices): Spending {
  const models = new Map<string, Sum>();
  let sum = nothing;
  for (const { model, ...one } of spent.map((each) => withCost(each, prices))) {
    models.set(model, add(models.get(model) ?? nothing, one));
    sum = add(sum, one);
  }
  return {
    usage: sum.usage,
    model: spent.at(-1)?.model ?? null,
    cost: sum.cost,
    ...(models.size > 1 && { models: Object.fromEntries(models) }),
    ...(Object.keys(memory).length > 0 && {
      agent: { ...memory, ...(path.length > 0 && { path }) },
    }),
  };
}

const count = { type: "integer", minimum: 0 };
const usage = {
  type: "object",
  properties: Object.fromEntries(Object.keys(noUsage).map((name) => [name, count])),
  required: Object.keys(noUsage),
};
const cost = { type: ["number", "null"], minimum: 0, description: "US dollars" };
const spending = {
  usage,
  model: { type: ["string", "null"] },
  cost,
  models: { type: "object" },
  agent: { type: "object" },
};
const always = ["usage", "model", "cost"];

/** The schema of a step's meta: that of its fields, and what it spent. */
export function spendingSchema(fields: { [keyword: string]: unknown }): JsonSchema {
  const { properties = {}, required = [] } = fields as { properties?: object; required?: string[] };
  return {
    ...fields,
    properties: { ...properties, ...spending },
    required: [...required, ...always],
  };
}

/** The keys of a step's meta that record what it spent. */
export const spendingKeys: readonly string[] = Object.keys(spending);

/** @throws WorkflowError `RESERVED_FIELD` when a schema has a field that records what a step spent. */
export function checkFields(names: readonly string[]): void {
  const taken = names.find((name) => spendingKeys.includes(name));
  if (taken === undefined) return;
  throw misuse(
    "RESERVED_FIELD",
    `a role's schema has the field ${taken}, which records what a step spent`,
    "give the field another name",
  );
}

/** The result of a step's work, and what it spent. */
export type Paid<T> = { result: T; spending: Spending };

/**
 * Runs a step's work, whose model calls are paid for by the thread, for a front end that has steps and
 * no roles. The thread's limits are kept; what all such calls of a thread spend is counted together with
 * what `ctx.steps` record, which must be one list for all of them and not grow.
 *
 * When the work fails its error has what was spent until then: `error.spent`.
 *
 * @throws WorkflowError `BUDGET_EXCEEDED`, `PRICE_UNKNOWN`, `BAD_PRICES`, `BAD_BUDGET`, and what the
 *   work throws.
 */
export async function paid<T>(
  ctx: ThreadContext,
  { stepID, intercept }: Pick<RoleRun, "stepID" | "intercept">,
  work: () => Promise<T>,
): Promise<Paid<T>> {
  const prices = ownPrices(ctx);
  const { close, ...account } = openAccount(ctx, prices);
  const run: RoleRun = { stepID, intercept, memory: {}, ...account };
  try {
    const result = await withRun(run, work);
    return { result, spending: runSpending(run, prices) };
  } catch (error) {
    if (typeof error === "object" && error !== null && run.spent.length > 0) {
      const value = runSpending(run, prices);
      Reflect.defineProperty(error, "spent", { value, configurable: true, writable: true });
    }
    throw error;
  } finally {
    // No step of `ctx.steps` will ever record it.
    close(false);
  }
}
