// Door 2: what a thread spent, for programs that show it. Loads no model's client.

// Ledger
export {
  addTally,
  type Ledger,
  type LedgerEnd,
  type LedgerStep,
  ledgerOf,
  noTally,
  type StepTally,
  type Tally,
  tallyOf,
  usageOf,
} from "./ledger/ledger.ts";
export type { Usage } from "./call/usage.ts";

// Prices
export { costOf, type Price, priceOf, type Prices, type Rates } from "./ledger/prices.ts";
