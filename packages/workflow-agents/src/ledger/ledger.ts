import { addUsage, noUsage, type Usage } from "../call/usage.ts";
import { rounded } from "./prices.ts";

/**
 * What was spent. `tokens` are all of `usage`, `cost` is what is known of the price in US dollars, and
 * `unpriced` counts the steps (each of their models, if a step has several) whose price is not known.
 */
export type Tally = { usage: Usage; tokens: number; cost: number; unpriced: number };

/**
 * What one step spent. `model` is the last that it called. `saved` steps were copied from another
 * thread, which paid for them; the `lost` one failed after it had called a model.
 */
export type StepTally = Tally & {
  number: number;
  role: string;
  model: string | null;
  kind: "own" | "saved" | "lost";
};

/**
 * What a thread spent, `total`, by role and by model; what a fork brought along is in `saved` alone.
 * `steps` are those that spent anything.
 */
export type Ledger = {
  total: Tally;
  saved: Tally;
  roles: Record<string, Tally>;
  models: Record<string, Tally>;
  steps: StepTally[];
};

/** A step as the ledger reads it. */
export type LedgerStep = { role: string; meta: Record<string, unknown> };

/** An end record as the ledger reads it: a failed step has left what it spent in `meta.error.kept`. */
export type LedgerEnd = { meta: Record<string, unknown> };

export const noTally: Tally = { usage: noUsage, tokens: 0, cost: 0, unpriced: 0 };

/**
 * The ledger of a thread: a fold of its steps' `meta.usage`, `meta.model`, `meta.models` and
 * `meta.cost`. Steps without them spent nothing.
 *
 * @param saved How many of the first steps a fork brought along.
 * @param end The end record, if there is one.
 */
export function ledgerOf(
  steps: readonly LedgerStep[],
  saved = 0,
  end: LedgerEnd | null = null,
): Ledger {
  const book = new Book();
  for (const [index, { role, meta }] of steps.entries()) {
    book.add(index + 1, role, meta, index < saved ? "saved" : "own");
  }
  const lost = lostOf(end);
  if (lost !== null) {
    book.add(steps.length + 1, String(lost.role), lost, "lost");
  }
  return book.ledger();
}

/** All tokens of a usage; thinking is part of the output. */
export const tokensOf = (usage: Usage): number =>
  usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens;

/** The sum of two tallies. */
export const addTally = (a: Tally, b: Tally): Tally => ({
  usage: addUsage(a.usage, b.usage),
  tokens: a.tokens + b.tokens,
  cost: rounded(a.cost + b.cost),
  unpriced: a.unpriced + b.unpriced,
});

/** The tally of one usage; `cost` is null when its price is not known. */
export function tallyOf(usage: Usage, cost: number | null): Tally {
  const tokens = tokensOf(usage);
  return { usage, tokens, cost: cost ?? 0, unpriced: cost === null && tokens > 0 ? 1 : 0 };
}

class Book {
  #total = noTally;
  #saved = noTally;
  readonly #roles = new Map<string, Tally>();
  readonly #models = new Map<string, Tally>();
  readonly #steps: StepTally[] = [];

  add(number: number, role: string, meta: Record<string, unknown>, kind: StepTally["kind"]): void {
    const parts = partsOf(meta);
    const tally = parts === null ? spentOf(meta) : parts.map(([, part]) => part).reduce(addTally);
    if (tally === null) return;
    const model = typeof meta.model === "string" ? meta.model : null;
    this.#steps.push({ ...tally, number, role, model, kind });
    if (kind === "saved") {
      this.#saved = addTally(this.#saved, tally);
      return;
    }
    this.#total = addTally(this.#total, tally);
    put(this.#roles, role, tally);
    for (const [name, part] of parts ?? [[model ?? "unknown", tally]]) {
      put(this.#models, name, part);
    }
  }

  ledger(): Ledger {
    return {
      total: this.#total,
      saved: this.#saved,
      roles: Object.fromEntries(this.#roles),
      models: Object.fromEntries(this.#models),
      steps: this.#steps,
    };
  }
}

const put = (tallies: Map<string, Tally>, name: string, tally: Tally): void =>
  void tallies.set(name, addTally(tallies.get(name) ?? noTally, tally));

function spentOf({ usage, cost }: Record<string, unknown>): Tally | null {
  const counted = usageOf(usage);
  if (counted === null) return null;
  const tally = tallyOf(counted, amountOf(cost));
  return tally.tokens === 0 && tally.cost === 0 ? null : tally;
}

/** What each model of a step spent, when it called more than one. */
function partsOf({ models }: Record<string, unknown>): [string, Tally][] | null {
  if (!isObject(models)) return null;
  const parts = Object.entries(models).flatMap(([name, part]): [string, Tally][] => {
    const tally = isObject(part) ? spentOf(part) : null;
    return tally === null ? [] : [[name, tally]];
  });
  return parts.length > 0 ? parts : null;
}

function lostOf(end: LedgerEnd | null): Record<string, unknown> | null {
  const error = end?.meta.error;
  return isObject(error) && isObject(error.kept) && typeof error.kept.role === "string"
    ? error.kept
    : null;
}

/** A recorded usage, each count that is none as 0; null when it is no object. */
export function usageOf(value: unknown): Usage | null {
  if (!isObject(value)) return null;
  return {
    input_tokens: amountOf(value.input_tokens) ?? 0,
    output_tokens: amountOf(value.output_tokens) ?? 0,
    thinking_tokens: amountOf(value.thinking_tokens) ?? 0,
    cache_read_tokens: amountOf(value.cache_read_tokens) ?? 0,
    cache_write_tokens: amountOf(value.cache_write_tokens) ?? 0,
  };
}

const amountOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
