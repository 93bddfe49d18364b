// Entry point 2: a thread's spending, for programs that display it. Loads no model client.

// Ledger
export {
  addTally,
  type AttemptTally,
  type Ledger,
  ledgerOf,
  ledgerOfSteps,
  noTally,
  type Tally,
  tallyOf,
} from "../ledger/ledger.ts";

// Prices
export {
  costOf,
  pricedModels,
  type Price,
  priceOf,
  type Prices,
  type Rates,
} from "../ledger/prices.ts";
