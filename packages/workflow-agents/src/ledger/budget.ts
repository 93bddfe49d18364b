import { AsyncLocalStorage } from "node:async_hooks";
import type { Journal } from "@uncaged/workflow/interpreter";
import { roundedCost, spendingOf } from "@uncaged/workflow/records";
import type { ThreadContext, WorkflowError } from "@uncaged/workflow";
import { originalOf } from "../run/copy.ts";
import { publish, type RoleRun, type Spent } from "../run/run.ts";
import { addTally, noTally, type Tally, tallyOf } from "./ledger.ts";
import { mostCostOf, ownPrices, withCost } from "./prices.ts";
import { type Limits, RaisedLimits } from "./raise.ts";
import { type RootHold, RootLimit } from "./root-limit.ts";
import { invalidLimit, overBudget, overLimit, priceUnknown } from "./errors.ts";

type Account = Required<
  Pick<
    RoleRun,
    | "spent"
    | "reserve"
    | "remaining"
    | "isLimited"
    | "limitsCost"
    | "withCost"
    | "raise"
    | "takeOver"
    | "settled"
  >
> & {
  /** Closes the account after the role. `isRecorded`: whether the step of the role records the spending. */
  close: (isRecorded: boolean) => void;
};

type Open = { spent: Spent[]; reserved: Set<Tally>; isRecorded: boolean };
type Shared = { accounts: Set<Open>; waiting: Set<() => void>; unpriced: Set<string> };

/** A scope with limits: a thread, or a call of a role with its own budget. */
type Level = {
  readonly limits: Limits;
  accounts: Set<Open>;
  /** Returns the spending before the first account. */
  before: () => Tally;
  exceeded: (taken: Taken, next: Tally, model: string) => WorkflowError;
  /** Makes the thread wait until the limit is raised. Returns false if the thread can't ask a person. */
  ask?: (taken: Taken, next: Tally, model: string) => Promise<boolean>;
};

// The shared accounts, by the thread's list of steps, which identifies the thread. Concurrent roles share one limit,
// and the spending of a failed role is not in a step.
const open = new WeakMap<object, Shared>();
const budgets = new AsyncLocalStorage<readonly Level[]>();

/**
 * Runs work with its own budget, within all surrounding budgets. `name` is the owner of the budget in error messages.
 * @throws WorkflowError like {@link checkedLimits}.
 */
export function withinBudget<T>(name: string, given: Limits, work: () => T): T {
  const limits = checkedLimits(given);
  const own: Level = {
    limits,
    accounts: new Set(),
    before: () => noTally,
    exceeded: (taken, next, model) => {
      const { limit, spent } = exceeding(limits, taken, next, model);
      return overBudget(name, limit, spent);
    },
  };
  return budgets.run([...(budgets.getStore() ?? []), own], work);
}

/**
 * Opens the account of a starting role, with the limits of the thread's options `maxCost` (US dollars) and `maxTokens`,
 * and the budgets of the calling roles. Steps that a fork copied do not count.
 * @throws WorkflowError `BAD_PRICES`, `BAD_BUDGET`; from `reserve` `BUDGET_EXCEEDED` if the call could exceed a limit,
 *   and `PRICE_UNKNOWN` if there is a `maxCost` and the model's price is unknown.
 */
export function openAccount(ctx: ThreadContext, journal = journalOf(ctx)): Account {
  const prices = ownPrices(ctx);
  const { steps, threadId } = ctx;
  const allSteps = originalOf(ctx.allSteps ?? steps);
  const shared = open.get(allSteps) ?? newShared(journal);
  const raised = new RaisedLimits(checkedLimits(ctx.options ?? {}), ctx);
  const root = new RootLimit(ctx);
  open.set(allSteps, shared);
  const { waiting } = shared;
  const levels: readonly Level[] = [
    {
      get limits() {
        return raised.now;
      },
      ...{ accounts: shared.accounts, before: () => spentBefore(ctx) },
      exceeded: (taken, next, model) =>
        overLimit(threadId, exceeding(raised.now, taken, next, model)),
      async ask(taken, next, model) {
        if (!raised.canAsk) return false;
        const { limit, spent, ...which } = exceeding(raised.now, taken, next, model);
        await raised.ask({ ...which, text: `${limit} would be exceeded: ${spent}` });
        return true;
      },
    },
    ...(budgets.getStore() ?? []),
  ];
  const mine: Open = { spent: [], reserved: new Set(), isRecorded: false };
  for (const { accounts } of levels) accounts.add(mine);
  const priced = (one: Spent): Tally => {
    const { usage, cost } = withCost(one, prices);
    return tallyOf(usage, cost);
  };
  const takenOf = ({ accounts, before }: Level): Taken => ({
    spent: [...accounts].flatMap(({ spent }) => spent.map(priced)).reduce(addTally, before()),
    reserved: [...accounts].flatMap(({ reserved }) => [...reserved]).reduce(addTally, noTally),
  });
  // Calls in flight keep their reservation even after their role has ended.
  const forget = (): void => {
    const isOver = mine.isRecorded && mine.reserved.size === 0 && mine.spent.length === 0;
    if (isOver) for (const { accounts } of levels) accounts.delete(mine);
  };
  /** Returns the level that allows the fewest output tokens, and this number. */
  const tightest = (most: (output: number) => Tally, asked: number) => {
    const all = levels.map((level) => {
      const taken = takenOf(level);
      const output = outputWithin(level.limits, sumOf(taken), most, asked);
      return { level, taken, output };
    });
    return all.reduce((least, one) => (one.output < least.output ? one : least));
  };
  return {
    spent: mine.spent,
    isLimited:
      root.isLimited ||
      levels.some(({ limits: { maxCost, maxTokens } }) => (maxCost ?? maxTokens) !== undefined),
    limitsCost: root.isLimited || levels.some(({ limits }) => limits.maxCost !== undefined),
    withCost: (spent) => withCost(spent, prices),
    // Rounds down to millionths of a dollar, which commands accept, to stay within the limit.
    remaining() {
      const left = levels.flatMap((level) => {
        const { maxCost } = level.limits;
        return maxCost === undefined ? [] : maxCost - sumOf(takenOf(level)).cost;
      });
      return left.length === 0 ? null : Math.max(0, Math.floor(Math.min(...left) * 1e6) / 1e6);
    },
    async reserve(
      { model, usage, cost, cacheWrites, call = crypto.randomUUID() },
      { least = usage.output_tokens, waits = true, atRoot, signal } = {},
    ) {
      const most = (output: number): Tally => {
        const asked = { ...usage, output_tokens: output };
        return tallyOf(asked, cost ?? mostCostOf(model, asked, prices, cacheWrites));
      };
      const isPriced = levels.some(({ limits: { maxCost } }) => maxCost !== undefined);
      const isUnknown = most(usage.output_tokens).unpriced > 0;
      if (isPriced && isUnknown) throw priceUnknown(model);
      if (isUnknown && root.isLimited) sayUnpriced(model, shared.unpriced);
      for (;;) {
        signal?.throwIfAborted();
        const { level, taken, output } = tightest(most, usage.output_tokens);
        const isAlone = [...level.accounts].every(({ reserved }) => reserved.size === 0);
        if (output === usage.output_tokens || (isAlone && output >= least)) {
          let tally = most(output);
          mine.reserved.add(tally);
          let hold: RootHold | null = null;
          const release = (): void => {
            mine.reserved.delete(tally);
            hold?.release();
            forget();
            for (const wake of waiting) wake();
          };
          const next = {
            ...{ call, model },
            ...{ least: atRoot ?? most(Math.min(least, output)).cost, most: atRoot ?? tally.cost },
          };
          try {
            const rootWaits = waits || atRoot !== undefined;
            hold = atRoot === 0 ? free : await root.reserve(next, { waits: rootWaits, signal });
          } catch (error) {
            release();
            throw error;
          }
          if (hold === null) {
            release();
            await root.wait(next, signal);
            continue;
          }
          if (atRoot !== undefined || hold.amount >= next.most)
            return { outputTokens: output, release };
          const left = outputWithin({ maxCost: hold.amount }, noTally, most, output);
          mine.reserved.delete(tally);
          tally = most(left);
          mine.reserved.add(tally);
          return { outputTokens: left, release };
        }
        if (!isAlone && waits) await released(waiting, signal);
        else if (!waits || !(await level.ask?.(taken, most(least), model))) {
          throw level.exceeded(taken, most(least), model);
        }
      }
    },
    async raise({ model, usage }) {
      const next = tallyOf(usage, mostCostOf(model, usage, prices));
      for (const level of levels) {
        const taken = takenOf(level);
        if (isWithin(level.limits, addTally(sumOf(taken), next))) continue;
        if (!(await level.ask?.(taken, next, model))) return false;
      }
      return true;
    },
    takeOver(calls) {
      const taken = new Set(calls.flatMap(({ call }) => call ?? []));
      for (const { spent } of shared.accounts) {
        const left = spent.filter(({ call = "" }) => !taken.has(call));
        if (left.length < spent.length) spent.splice(0, spent.length, ...left);
      }
    },
    settled: async () => await journal?.settled?.(),
    close(isRecorded) {
      if (!isRecorded) return;
      mine.isRecorded = true;
      mine.spent.length = 0;
      forget();
    },
  };
}

const free: RootHold = { amount: 0, release: () => undefined };

/**
 * Creates a shared account, which starts with the spending of earlier workers that is in the journal but not in a step.
 */
function newShared(journal: Journal | undefined): Shared {
  const paid = journal?.paid?.() ?? [];
  const spent = paid.map(({ call, model, usage, cost }) => ({ call, model, usage, cost }));
  const earlier: Open = { spent, reserved: new Set(), isRecorded: false };
  return { accounts: new Set([earlier]), waiting: new Set(), unpriced: new Set() };
}

/** Returns the journal of a thread. Step workflows pass the journal in the options. */
const journalOf = ({ journal, options }: ThreadContext): Journal | undefined =>
  journal ?? (options?.journal as Journal | undefined);

/**
 * Returns the limits in the options.
 * @throws WorkflowError `BAD_BUDGET` if a limit is not a positive number.
 */
export function checkedLimits({ maxCost, maxTokens }: Readonly<Record<string, unknown>>): Limits {
  for (const [name, limit] of Object.entries({ maxCost, maxTokens })) {
    const isSound = typeof limit === "number" && Number.isFinite(limit) && limit > 0;
    if (limit === undefined || isSound) continue;
    throw invalidLimit(name, limit);
  }
  return { maxCost, maxTokens } as Limits;
}

function spentBefore({ steps, allSteps = steps, options }: ThreadContext): Tally {
  const forkFrom = options?.forkFrom as { steps?: unknown } | undefined;
  const saved = typeof forkFrom?.steps === "number" ? forkFrom.steps : 0;
  return originalOf(allSteps)
    .slice(saved)
    .flatMap(({ meta }) => Object.values(spendingOf(meta)?.models ?? {}))
    .map(({ usage, cost }) => tallyOf(usage, cost))
    .reduce(addTally, noTally);
}

type Taken = { spent: Tally; reserved: Tally };

const sumOf = ({ spent, reserved }: Taken): Tally => addTally(spent, reserved);

const isWithin = ({ maxCost = Infinity, maxTokens = Infinity }: Limits, all: Tally): boolean =>
  all.cost <= maxCost && all.tokens <= maxTokens;

/** Returns the maximum number of output tokens within the limits, up to `asked`, or -1 if no call fits. */
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

/**
 * Waits until a call in flight has ended.
 * @throws the signal's reason when it is aborted.
 */
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

/** Returns the limit that the next call could exceed, and a text with the spending, or null. */
function exceeding(
  { maxCost = Infinity, maxTokens = Infinity }: Limits,
  { spent, reserved }: Taken,
  next: Tally,
  model: string,
): { limit: string; spent: string; isCost: boolean; name: keyof Limits; amount: number } {
  const isCost = roundedCost(spent.cost + reserved.cost + next.cost) > maxCost;
  const of = ({ cost, tokens }: Tally): string =>
    isCost ? dollars(cost) : `${grouped(tokens)} tokens`;
  const limit = isCost ? `maxCost ${dollars(maxCost)}` : `maxTokens ${grouped(maxTokens)}`;
  const held = reserved.tokens > 0 ? `${of(reserved)} are reserved by calls in flight, ` : "";
  const could = `${isCost ? "cost" : "use"} ${of(next)}`;
  return {
    ...{
      limit,
      isCost,
      name: isCost ? "maxCost" : "maxTokens",
      amount: isCost ? maxCost : maxTokens,
    },
    spent: `${of(spent)} are spent, ${held}and the next call of ${model} could ${could}`,
  };
}

const dollars = (cost: number): string => `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
const grouped = (tokens: number): string => tokens.toLocaleString("en-US");

/** Reports once that the limits of the storage root do not apply to a model without a price. */
function sayUnpriced(model: string, said: Set<string>): void {
  if (said.has(model)) return;
  said.add(model);
  const message = `the price of model ${model} is not known: its calls count as unknown in the limits of the storage root; set the price in UNCAGED_WORKFLOW_PRICES: {"${model}": {"input": 1, "output": 5}}`;
  publish("tool_message", { name: model, level: "warn", message, data: null });
}
