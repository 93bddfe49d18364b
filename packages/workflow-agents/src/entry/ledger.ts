/**
 * The spending of a thread, for programs that display it. Does not load a model client.
 *
 * @module
 */

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
