import type { ThreadContext } from "@uncaged/workflow";
import { type Call, withCall } from "../call/call.ts";
import { openAccount } from "../ledger/budget.ts";
import { ownPrices } from "../ledger/own-prices.ts";
import { type Spending, spendingOf } from "./spending.ts";

/** What the work of a step came to, and what it spent. */
export type Paid<T> = { result: T; spending: Spending };

/**
 * Runs a step's work, whose model calls are paid for by the thread, for a front end that has steps and
 * no roles. The thread's limits are held; what all such calls of a thread spend is counted together with
 * what `ctx.steps` tell, which must be one list for all of them and not grow.
 *
 * When the work fails its error tells what was spent until then: `error.spent`.
 *
 * @throws WorkflowError `BUDGET_EXCEEDED`, `PRICE_UNKNOWN`, `BAD_PRICES`, `BAD_BUDGET`, and what the
 *   work throws.
 */
export async function paid<T>(
  ctx: ThreadContext,
  { stepID, hear }: Pick<Call, "stepID" | "hear">,
  work: () => Promise<T>,
): Promise<Paid<T>> {
  const prices = ownPrices(ctx);
  const { close, ...account } = openAccount(ctx, prices);
  const call: Call = { stepID, hear, memory: {}, ...account, id: crypto.randomUUID() };
  try {
    const result = await withCall(call, work);
    return { result, spending: spendingOf(call, prices) };
  } catch (error) {
    if (typeof error === "object" && error !== null && call.spent.length > 0) {
      const value = spendingOf(call, prices);
      Reflect.defineProperty(error, "spent", { value, configurable: true, writable: true });
    }
    throw error;
  } finally {
    // No step of `ctx.steps` will ever tell it.
    close(false);
  }
}
