import { spendingOf, type ThreadContext, type WorkflowError } from "@uncaged/workflow";
import { failure, misuse } from "../run/error.ts";
import type { Spent } from "../run/run.ts";
import { addTally, noTally, type Tally, tallyOf } from "./ledger.ts";
import { mostCostOf, type Prices, rounded, withCost } from "./prices.ts";

/** A thread's limits, from its options `maxCost` (US dollars) and `maxTokens`. */
export type Limits = { maxCost?: number; maxTokens?: number };

/**
 * What one running role spends and may spend. `reserve` is called before each model call with the most
 * that it may use, which is reserved until the function that it returns is called; `close` is called when
 * the role is over: `isRecorded` when its step records what it spent.
 */
export type Account = {
  spent: Spent[];
  reserve: (most: Spent) => () => void;
  /** What remains of `maxCost`, in US dollars; null without one. */
  remaining: () => number | null;
  isLimited: boolean;
  withCost: (spent: Spent) => Spent;
  close: (isRecorded: boolean) => void;
};

/** `reserved` is what the calls in flight may spend. */
type Open = { spent: Spent[]; reserved: Set<Tally> };

// By thread, which its list of steps identifies: roles that run concurrently share one limit, and one
// that failed has spent what no step records.
const open = new WeakMap<object, Set<Open>>();

/**
 * Opens the account of a role that begins to run. What a fork has copied is not counted: another
 * thread has paid for it.
 *
 * @throws WorkflowError `BAD_BUDGET` when a limit is no positive number. From `reserve`:
 *   `BUDGET_EXCEEDED` when the call could pass a limit, `PRICE_UNKNOWN` when the thread has a
 *   `maxCost` and the model no known price.
 */
export function openAccount(ctx: ThreadContext, prices: Prices): Account {
  const limits = limitsOf(ctx);
  const mine: Open = { spent: [], reserved: new Set() };
  const accounts = open.get(ctx.steps) ?? new Set();
  open.set(ctx.steps, accounts.add(mine));
  const spentSoFar = (): Tally =>
    [...accounts].map((one) => runningOf(one, prices)).reduce(addTally, spentBefore(ctx));
  const remaining = (): number | null => {
    const { maxCost } = limits;
    return maxCost === undefined ? null : Math.max(0, floored(maxCost - spentSoFar().cost));
  };
  const reserve = (most: Spent): (() => void) => {
    const tally = { ...mostOf(most, prices, limits) };
    check(ctx.threadId, limits, spentSoFar(), tally, most.model);
    mine.reserved.add(tally);
    return () => void mine.reserved.delete(tally);
  };
  const close = (isRecorded: boolean): void => {
    mine.reserved.clear();
    if (isRecorded) accounts.delete(mine);
  };
  return {
    ...{ spent: mine.spent, reserve, remaining, close },
    isLimited: limits.maxCost !== undefined || limits.maxTokens !== undefined,
    withCost: (spent) => withCost(spent, prices),
  };
}

// In millionths: what a command takes, and no more than there is.
const floored = (cost: number): number => Math.floor(cost * 1e6) / 1e6;

function limitsOf({ options = {} }: ThreadContext): Limits {
  const { maxCost, maxTokens } = options;
  for (const [name, limit] of Object.entries({ maxCost, maxTokens })) {
    const sound = typeof limit === "number" && Number.isFinite(limit) && limit > 0;
    if (limit !== undefined && !sound) throw badBudget(name, limit);
  }
  return { maxCost, maxTokens } as Limits;
}

function spentBefore({ steps, allSteps = steps, options }: ThreadContext): Tally {
  const forkFrom = options?.forkFrom as { steps?: unknown } | undefined;
  const saved = typeof forkFrom?.steps === "number" ? forkFrom.steps : 0;
  return allSteps
    .slice(saved)
    .flatMap(({ meta }) => Object.values(spendingOf(meta)?.models ?? {}))
    .map(({ usage, cost }) => tallyOf(usage, cost))
    .reduce(addTally, noTally);
}

function mostOf(most: Spent, prices: Prices, { maxCost }: Limits): Tally {
  const cost = most.cost ?? mostCostOf(most.model, most.usage, prices);
  if (cost === null && maxCost !== undefined) throw priceUnknown(most.model);
  return tallyOf(most.usage, cost);
}

function runningOf({ spent, reserved }: Open, prices: Prices): Tally {
  const answered = spent.map((one) => {
    const { usage, cost } = withCost(one, prices);
    return tallyOf(usage, cost);
  });
  return [...answered, ...reserved].reduce(addTally, noTally);
}

function check(threadId: string, limits: Limits, spent: Tally, most: Tally, model: string): void {
  const { maxCost = Infinity, maxTokens = Infinity } = limits;
  const refuse = (so: string, could: string, limit: string, option: string): WorkflowError =>
    failure(
      "BUDGET_EXCEEDED",
      `${limit} would be passed: ${so} are spent, and the next call of ${model} could ${could}`,
      `go on with a higher limit: uncaged-workflow retry ${threadId} ${option} N (what is spent so far is not counted again)`,
    );
  if (rounded(spent.cost + most.cost) > maxCost) {
    const limit = `maxCost ${dollars(maxCost)}`;
    throw refuse(dollars(spent.cost), `cost ${dollars(most.cost)}`, limit, "--max-cost");
  }
  if (spent.tokens + most.tokens > maxTokens) {
    const limit = `maxTokens ${grouped(maxTokens)}`;
    const could = `take ${grouped(most.tokens)} tokens`;
    throw refuse(`${grouped(spent.tokens)} tokens`, could, limit, "--max-tokens");
  }
}

const dollars = (cost: number): string => `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
const grouped = (tokens: number): string => tokens.toLocaleString("en-US");

const priceUnknown = (model: string): WorkflowError =>
  failure(
    "PRICE_UNKNOWN",
    `the thread has a maxCost, and the price of model ${model} is not known`,
    `set it in UNCAGED_WORKFLOW_PRICES: {"${model}": {"input": 1, "output": 5}}, or limit tokens: --max-tokens`,
  );

const badBudget = (name: string, limit: unknown): WorkflowError =>
  misuse(
    "BAD_BUDGET",
    `${name} is ${JSON.stringify(limit)}, not a positive number`,
    name === "maxCost" ? "give US dollars, as 2.5" : "give a number of tokens, as 200000",
  );
