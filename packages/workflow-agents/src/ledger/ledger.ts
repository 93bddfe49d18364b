import { addTally, isObject, noTally, spentOf, type Tally } from "./tally.ts";
import { type LedgerLog, untold } from "./told.ts";

/**
 * What one step spent. `model` is the last that it called. `saved` steps were copied from another
 * thread, which paid for them; `lost` is what was spent for no step, which failed or broke off: its
 * `number` is that of the step that it would have been.
 */
export type StepTally = Tally & {
  number: number;
  role: string;
  model: string | null;
  kind: "own" | "saved" | "lost";
};

/**
 * What a thread spent, `total`, by role and by model; what a fork brought along is in `saved` alone, and
 * `lost` is the part of `total` that no step came of. `steps` are those that spent anything. `unknown`
 * counts the model calls that broke off before their provider had told all of their tokens: what it had
 * told is counted, the rest is not.
 */
export type Ledger = {
  total: Tally;
  saved: Tally;
  lost: Tally;
  unknown: number;
  roles: Record<string, Tally>;
  models: Record<string, Tally>;
  steps: StepTally[];
};

/** A step as the ledger reads it. */
export type LedgerStep = { role: string; meta: Record<string, unknown> };

/** An end record as the ledger reads it: a failed step has left what it spent in `meta.error.kept`. */
export type LedgerEnd = { meta: Record<string, unknown> };

/**
 * The ledger of a thread: a fold of its steps' `meta.usage`, `meta.model`, `meta.models` and
 * `meta.cost`. Steps without them spent nothing, as far as the log doesn't tell otherwise.
 *
 * @param saved How many of the first steps a fork brought along.
 * @param end The end record, if there is one.
 * @param log The debug log: it tells what calls spent that no step tells of.
 */
export function ledgerOf(
  steps: readonly LedgerStep[],
  saved = 0,
  end: LedgerEnd | null = null,
  log: LedgerLog | null = null,
): Ledger {
  const book = new Book();
  for (const [index, { role, meta }] of steps.entries()) {
    book.add(index + 1, role, meta, index < saved ? "saved" : "own");
  }
  const kept = keptOf(end);
  if (kept !== null) book.add(steps.length + 1, kept.role, kept.meta, "lost");
  if (log === null) return book.ledger(0);
  const { entries, unknown } = untold(steps, saved, kept, log);
  for (const { number, role, meta, kind } of entries) book.add(number, role, meta, kind);
  return book.ledger(unknown);
}

class Book {
  #total = noTally;
  #saved = noTally;
  #lost = noTally;
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
    if (kind === "lost") this.#lost = addTally(this.#lost, tally);
    put(this.#roles, role, tally);
    for (const [name, part] of parts ?? [[model ?? "unknown", tally]]) {
      put(this.#models, name, part);
    }
  }

  ledger(unknown: number): Ledger {
    return {
      total: this.#total,
      saved: this.#saved,
      lost: this.#lost,
      unknown,
      roles: Object.fromEntries(this.#roles),
      models: Object.fromEntries(this.#models),
      steps: this.#steps.sort((a, b) => a.number - b.number),
    };
  }
}

const put = (tallies: Map<string, Tally>, name: string, tally: Tally): void =>
  void tallies.set(name, addTally(tallies.get(name) ?? noTally, tally));

/** What each model of a step spent, when it called more than one. */
function partsOf({ models }: Record<string, unknown>): [string, Tally][] | null {
  if (!isObject(models)) return null;
  const parts = Object.entries(models).flatMap(([name, part]): [string, Tally][] => {
    const tally = isObject(part) ? spentOf(part) : null;
    return tally === null ? [] : [[name, tally]];
  });
  return parts.length > 0 ? parts : null;
}

function keptOf(end: LedgerEnd | null): LedgerStep | null {
  const error = end?.meta.error;
  if (!isObject(error) || !isObject(error.kept)) return null;
  const { role } = error.kept;
  return typeof role === "string" ? { role, meta: error.kept } : null;
}
