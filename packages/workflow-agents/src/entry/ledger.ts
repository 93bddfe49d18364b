// Entry point 2: what a thread spent, for programs that show it. Loads no model's client.

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
