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

type Open = { spent: Spent[]; reserved: Set<Tally>; isRecorded: boolean };
type Shared = { accounts: Set<Open>; waiting: Set<() => void> };

// By thread, which its list of steps identifies: roles that run concurrently share one limit, and one
// that failed has spent what no step records.
const open = new WeakMap<object, Shared>();

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
  const mine: Open = { spent: [], reserved: new Set(), isRecorded: false };
  const { steps, allSteps = steps } = ctx;
  const shared = open.get(allSteps) ?? { accounts: new Set(), waiting: new Set() };
  open.set(allSteps, shared);
  const { accounts, waiting } = shared;
  accounts.add(mine);
  const priced = (one: Spent): Tally => {
    const { usage, cost } = withCost(one, prices);
    return tallyOf(usage, cost);
  };
  const taken = (): Taken => ({
    spent: [...accounts].flatMap(({ spent }) => spent.map(priced)).reduce(addTally, before()),
    reserved: [...accounts].flatMap(({ reserved }) => [...reserved]).reduce(addTally, noTally),
  });
  const before = (): Tally => spentBefore(ctx);
  // Calls that are still in flight hold what they have reserved, whatever becomes of their role.
  const forget = (): void => {
    const isOver = mine.isRecorded && mine.reserved.size === 0 && mine.spent.length === 0;
    if (isOver) accounts.delete(mine);
  };
  return {
    spent: mine.spent,
    isLimited: maxCost !== undefined || limits.maxTokens !== undefined,
    withCost: (spent) => withCost(spent, prices),
    // In millionths: what a command takes, and no more than there is.
    remaining: () =>
      maxCost === undefined
        ? null
        : Math.max(0, Math.floor((maxCost - sumOf(taken()).cost) * 1e6) / 1e6),
    async reserve(
      { model, usage, cost },
      { least = usage.output_tokens, waits = true, signal } = {},
    ) {
      const most = (output: number): Tally => {
        const asked = { ...usage, output_tokens: output };
        return tallyOf(asked, cost ?? mostCostOf(model, asked, prices));
      };
      if (maxCost !== undefined && most(usage.output_tokens).unpriced > 0)
        throw priceUnknown(model);
      for (;;) {
        signal?.throwIfAborted();
        const now = taken();
        const output = outputWithin(limits, sumOf(now), most, usage.output_tokens);
        const isAlone = [...accounts].every(({ reserved }) => reserved.size === 0);
        if (output === usage.output_tokens || (isAlone && output >= least)) {
          const tally = most(output);
          mine.reserved.add(tally);
          const release = (): void => {
            mine.reserved.delete(tally);
            forget();
            for (const wake of waiting) wake();
          };
          return { outputTokens: output, release };
        }
        if (isAlone || !waits) throw exceeded(ctx.threadId, limits, now, most(least), model);
        await released(waiting, signal);
      }
    },
    close(isRecorded) {
      if (!isRecorded) return;
      mine.isRecorded = true;
      mine.spent.length = 0;
      forget();
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

type Taken = { spent: Tally; reserved: Tally };

const sumOf = ({ spent, reserved }: Taken): Tally => addTally(spent, reserved);

const isWithin = ({ maxCost = Infinity, maxTokens = Infinity }: Limits, all: Tally): boolean =>
  all.cost <= maxCost && all.tokens <= maxTokens;

/** The most output tokens, up to `asked`, of a call that passes no limit; -1 when there is none. */
function outputWithin(
  limits: Limits,
  sum: Tally,
  most: (output: number) => Tally,
  asked: number,
): number {
  const fits = (output: number): boolean => isWithin(limits, addTally(sum, most(output)));
  if (fits(asked)) return asked;
  let [low, high] = [-1, asked];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Waits until a call in flight has ended. @throws the signal's reason when it is aborted. */
function released(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const wake = (): void => {
      waiting.delete(wake);
      signal?.removeEventListener("abort", wake);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    };
    waiting.add(wake);
    signal?.addEventListener("abort", wake);
  });
}

function exceeded(
  threadId: string,
  { maxCost = Infinity, maxTokens = Infinity }: Limits,
  { spent, reserved }: Taken,
  next: Tally,
  model: string,
): WorkflowError {
  const isCost = rounded(spent.cost + reserved.cost + next.cost) > maxCost;
  const of = ({ cost, tokens }: Tally): string =>
    isCost ? dollars(cost) : `${grouped(tokens)} tokens`;
  const limit = isCost ? `maxCost ${dollars(maxCost)}` : `maxTokens ${grouped(maxTokens)}`;
  const held = reserved.tokens > 0 ? `${of(reserved)} are reserved by calls in flight, ` : "";
  const could = `${isCost ? "cost" : "take"} ${of(next)}`;
  return failure(
    "BUDGET_EXCEEDED",
    `${limit} would be passed: ${of(spent)} are spent, ${held}and the next call of ${model} could ${could}`,
    `go on with a higher limit: uncaged-workflow retry ${threadId} ${isCost ? "--max-cost" : "--max-tokens"} N (what is spent so far is not counted again)`,
  );
}

const dollars = (cost: number): string => `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
const grouped = (tokens: number): string => tokens.toLocaleString("en-US");

const priceUnknown = (model: string): WorkflowError =>
  failure(
    "PRICE_UNKNOWN",
    `the thread has a maxCost, and the price of model ${model} is not known`,
    `set it in UNCAGED_WORKFLOW_PRICES: {"${model}": {"input": 1, "output": 5}}, or limit tokens: --max-tokens`,
  );
