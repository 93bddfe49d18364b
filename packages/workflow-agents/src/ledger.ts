// Entry point 2: what a thread spent, for programs that show it. Loads no model's client.

// Ledger
export {
  type Ledger,
  type LedgerEnd,
  type LedgerStep,
  ledgerOf,
  type StepTally,
} from "./ledger/ledger.ts";
export { type LedgerRecord, ledgerRecords } from "./ledger/runs.ts";
export { addTally, noTally, type Tally, tallyOf, usageOf } from "./ledger/tally.ts";
export type { LedgerLog } from "./ledger/told.ts";
export type { Usage } from "./run/usage.ts";

// Prices
export { costOf, type Price, priceOf, type Prices, type Rates } from "./ledger/prices.ts";
