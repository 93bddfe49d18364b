import type { WorkflowError } from "@uncaged/workflow";
import { failure, misuse } from "../run/error.ts";

/* The errors of prices and limits. */

const badPrices = (message: string): WorkflowError =>
  misuse(
    "BAD_PRICES",
    message,
    'use dollars per million tokens: {"my-model": {"input": 1, "output": 5, "cacheRead": 0.1, "cacheWrite": 1.25}}',
  );

/* `source` is the environment variable or option with the prices. */

export const pricesNotJson = (source: string): WorkflowError =>
  badPrices(`${source}: invalid JSON`);

export const pricesNotObject = (source: string): WorkflowError =>
  badPrices(`${source} is not an object of prices by model`);

/** Returns the error for an invalid price. `problem` is a verb phrase. */
export const invalidPrice = (source: string, model: string, problem: string): WorkflowError =>
  badPrices(`${source}: the price of ${JSON.stringify(model)} ${problem}`);

export const priceUnknown = (model: string): WorkflowError =>
  failure(
    "PRICE_UNKNOWN",
    `the thread has a maxCost, but the price of model ${model} is unknown`,
    `set it in UNCAGED_WORKFLOW_PRICES: {"${model}": {"input": 1, "output": 5}}, or limit tokens: --max-tokens`,
  );

export const invalidOnBudget = (given: unknown): WorkflowError =>
  misuse("BAD_BUDGET", `onBudget can't be ${JSON.stringify(given)}`, "use wait or fail");

export const invalidLimit = (name: string, given: unknown): WorkflowError =>
  misuse(
    "BAD_BUDGET",
    `${name} is ${JSON.stringify(given)}, not a positive number`,
    name === "maxCost" ? "use US dollars, as 2.5" : "use a number of tokens, as 200000",
  );

/** Returns the error of an exceeded limit. `limit` and `spent` are texts with the amounts. */
export const overLimit = (
  threadId: string,
  { limit, spent, isCost }: { limit: string; spent: string; isCost: boolean },
): WorkflowError =>
  failure(
    "BUDGET_EXCEEDED",
    `${limit} would be exceeded: ${spent}`,
    `continue with a higher limit: uncaged-workflow retry ${threadId} ${isCost ? "--max-cost" : "--max-tokens"} N (earlier spending is not counted again)`,
  );

/** Returns the error of an exceeded budget of a role that is called as the tool `name`. */
export const overBudget = (name: string, limit: string, spent: string): WorkflowError =>
  failure(
    "BUDGET_EXCEEDED",
    `${limit} of the budget of ${name} would be exceeded: ${spent}`,
    `ask ${name} for less at once, or continue without it`,
  );

/** Returns the error of an exceeded limit of the storage root. `reason` is a text with the limit. */
export const rootLimitReached = (reason: string): WorkflowError =>
  failure("BUDGET_EXCEEDED", reason);
