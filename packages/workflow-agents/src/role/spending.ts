import { addUsage, noUsage } from "@uncaged/workflow/interpreter";
import type { JsonSchema, ThreadContext, Usage } from "@uncaged/workflow";
import { openAccount } from "../ledger/budget.ts";
import { roundedCost } from "@uncaged/workflow/records";
import { type RoleRun, withRun } from "../run/run.ts";
import { spendingField } from "./errors.ts";

type Sum = { usage: Usage; cost: number | null };

/**
 * The fields in a step's meta that record its spending. `cost` is in US dollars, or null if a price is unknown. `model`
 * is the last model, or null if the step did not call a model. `models` has the spending by model if there were
 * several. `agent` is the memory of the agents for later steps.
 */
export type Spending = Sum & {
  model: string | null;
  models?: Record<string, Sum>;
  agent?: Record<string, unknown>;
};

const add = (a: Sum, b: Sum): Sum => ({
  usage: addUsage(a.usage, b.usage),
  cost: a.cost === null || b.cost === null ? null : roundedCost(a.cost + b.cost),
});

export function runSpending({ spent, withCost, memory, path = [] }: RoleRun): Spending {
  const models = new Map<string, Sum>();
  const nothing: Sum = { usage: noUsage, cost: 0 };
  let sum = nothing;
  for (const { model, ...one } of spent.map((each) => withCost?.(each) ?? each)) {
    models.set(model, add(models.get(model) ?? nothing, one));
    sum = add(sum, one);
  }
  const agent = { ...memory, ...(path.length > 0 && { path }) };
  return {
    ...sum,
    model: spent.at(-1)?.model ?? null,
    ...(models.size > 1 && { models: Object.fromEntries(models) }),
    ...(Object.keys(memory).length > 0 && { agent }),
  };
}

const counts = Object.keys(noUsage);
const usage = {
  type: "object",
  properties: Object.fromEntries(counts.map((name) => [name, { type: "integer", minimum: 0 }])),
  required: counts,
};
const spending = {
  usage,
  model: { type: ["string", "null"] },
  cost: { type: ["number", "null"], minimum: 0, description: "US dollars" },
  models: { type: "object" },
  agent: { type: "object" },
};

export function spendingSchema(fields: { [keyword: string]: unknown }): JsonSchema {
  const { properties = {}, required = [] } = fields as { properties?: object; required?: string[] };
  return {
    ...fields,
    properties: { ...properties, ...spending },
    required: [...required, "usage", "model", "cost"],
  };
}

export const spendingKeys: readonly string[] = Object.keys(spending);

/** Checks the fields of a schema. @throws WorkflowError `RESERVED_FIELD` for a field that records a step's spending. */
export function checkFields(names: readonly string[]): void {
  const taken = names.find((name) => spendingKeys.includes(name));
  if (taken !== undefined) throw spendingField(taken);
}

/** The result of work, and the spending of its model calls. */
export type Paid<T> = { result: T; spending: Spending };

/**
 * Runs a step's work and counts its model calls toward the thread's limits, for a front end with steps instead of
 * roles. The limits apply to all such calls of the thread and to `ctx.steps`, which must always be the same list and
 * must not grow.
 * @throws errors of the work, with the spending as `error.spent`; errors of {@link openAccount}.
 */
export async function paid<T>(
  ctx: ThreadContext,
  { stepID, intercept }: Pick<RoleRun, "stepID" | "intercept">,
  work: () => Promise<T>,
): Promise<Paid<T>> {
  const { close, ...account } = openAccount(ctx);
  const run: RoleRun = { stepID, intercept, memory: {}, ...account };
  try {
    const result = await withRun(run, work);
    return { result, spending: runSpending(run) };
  } catch (error) {
    if (run.spent.length > 0) attach(error, "spent", runSpending(run));
    throw error;
  } finally {
    // `ctx.steps` does not grow, so no step in it records the spending.
    close(false);
  }
}

/** Adds a field to an error, unless it is read-only. */
export function attach(error: unknown, name: string, value: unknown): void {
  if (typeof error !== "object" || error === null) return;
  Reflect.defineProperty(error, name, { value, configurable: true, writable: true });
}
