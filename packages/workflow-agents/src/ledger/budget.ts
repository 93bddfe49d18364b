import { spendingOf, type ThreadContext, type WorkflowError } from "@uncaged/workflow";
import { failure, misuse } from "../run/error.ts";
import type { RoleRun, Spent } from "../run/run.ts";
import { addTally, noTally, type Tally, tallyOf } from "./ledger.ts";
import { mostCostOf, ownPrices, rounded, withCost } from "./prices.ts";

type Limits = { maxCost?: number; maxTokens?: number };

type Account = Required<
  Pick<RoleRun, "spent" | "reserve" | "remaining" | "isLimited" | "withCost">
> & {
  /** Called when the role is over: `isRecorded` when its step records what it spent. */
  close: (isRecorded: boolean) => void;
};

type Open = { spent: Spent[]; reserved: Set<Tally> };

// By thread, which its list of steps identifies: roles that run concurrently share one limit, and one
// that failed has spent what no step records.
const open = new WeakMap<object, Set<Open>>();

/**
 * Opens the account of a role that begins to run, within the thread's options `maxCost` (US dollars) and
 * `maxTokens`. What a fork has copied is not counted.
 * @throws WorkflowError `BAD_PRICES`, `BAD_BUDGET`; from `reserve` `BUDGET_EXCEEDED` when the call could
 *   pass a limit, `PRICE_UNKNOWN` when the thread has a `maxCost` and the model no known price.
 */
export function openAccount(ctx: ThreadContext): Account {
  const prices = ownPrices(ctx);
  const limits = limitsOf(ctx);
  const { maxCost } = limits;
  const mine: Open = { spent: [], reserved: new Set() };
  const accounts = open.get(ctx.steps) ?? new Set();
  open.set(ctx.steps, accounts.add(mine));
  const priced = (one: Spent): Tally => {
    const { usage, cost } = withCost(one, prices);
    return tallyOf(usage, cost);
  };
  const spentSoFar = (): Tally =>
    [...accounts]
      .flatMap(({ spent, reserved }) => [...spent.map(priced), ...reserved])
      .reduce(addTally, spentBefore(ctx));
  return {
    spent: mine.spent,
    isLimited: maxCost !== undefined || limits.maxTokens !== undefined,
    withCost: (spent) => withCost(spent, prices),
    // In millionths: what a command takes, and no more than there is.
    remaining: () =>
      maxCost === undefined
        ? null
        : Math.max(0, Math.floor((maxCost - spentSoFar().cost) * 1e6) / 1e6),
    reserve({ model, usage, cost }) {
      const most = cost ?? mostCostOf(model, usage, prices);
      if (most === null && maxCost !== undefined) throw priceUnknown(model);
      const tally = tallyOf(usage, most);
      check(ctx.threadId, limits, spentSoFar(), tally, model);
      mine.reserved.add(tally);
      return () => void mine.reserved.delete(tally);
    },
    close(isRecorded) {
      mine.reserved.clear();
      if (isRecorded) accounts.delete(mine);
    },
  };
}

function limitsOf({ options = {} }: ThreadContext): Limits {
  const { maxCost, maxTokens } = options;
  for (const [name, limit] of Object.entries({ maxCost, maxTokens })) {
    const isSound = typeof limit === "number" && Number.isFinite(limit) && limit > 0;
    if (limit === undefined || isSound) continue;
    const message = `${name} is ${JSON.stringify(limit)}, not a positive number`;
    const example = name === "maxCost" ? "US dollars, as 2.5" : "a number of tokens, as 200000";
    throw misuse("BAD_BUDGET", message, `give ${example}`);
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
