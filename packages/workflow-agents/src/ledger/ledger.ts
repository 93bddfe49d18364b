import {
  addTally,
  type Attempt,
  AttemptLog,
  noTally,
  spendingParts,
  type Tally,
} from "@uncaged/workflow/records";

export { addTally, noTally, type Tally, tallyOf } from "@uncaged/workflow/records";

/**
 * The spending of one attempt. `model` is the last model. The kind is `saved` for an attempt copied from another
 * thread, and `lost` for an attempt without a step.
 */
export type AttemptTally = Tally & {
  attempt: string;
  step: number | null;
  role: string;
  model: string | null;
  kind: "own" | "saved" | "lost";
};

/**
 * The spending of a thread. `total` includes `lost`, the spending of attempts without a step. `saved` is the spending
 * of steps that a fork copied. `unknown` counts model calls that broke off before they reported all tokens; `total`
 * includes the tokens that they reported.
 */
export type Ledger = {
  total: Tally;
  saved: Tally;
  lost: Tally;
  unknown: number;
  roles: Record<string, Tally>;
  models: Record<string, Tally>;
  attempts: AttemptTally[];
};

/**
 * Computes the ledger of a thread. An attempt counts when it has ended. A step that records its spending includes the
 * spending of the attempts within its attempt. The spending of another thread counts in that thread's ledger.
 */
export function ledgerOf(attempts: readonly Attempt[]): Ledger {
  const roles = new Map<string, Tally>();
  const models = new Map<string, Tally>();
  const sums = { own: noTally, saved: noTally, lost: noTally };
  const spent: AttemptTally[] = [];
  let unknown = 0;
  for (const { attempt, role, kind, models: parts } of spendingParts(attempts)) {
    if (kind === "running") continue;
    if (kind !== "saved") unknown += attempt.unknown;
    const tally = parts.map(([, part]) => part).reduce(addTally, noTally);
    if (tally.tokens === 0 && tally.cost === 0) continue;
    const { attempt: id, step, model } = attempt;
    spent.push({ ...tally, attempt: id, step, role, model, kind });
    sums[kind] = addTally(sums[kind], tally);
    if (kind === "saved") continue;
    add(roles, role, tally);
    for (const [name, part] of parts) add(models, name, part);
  }
  const { own, saved, lost } = sums;
  return {
    ...{ total: addTally(own, lost), saved, lost, unknown, attempts: spent },
    roles: Object.fromEntries(roles),
    models: Object.fromEntries(models),
  };
}

/** Computes the ledger from steps only. A fork copied the first `saved` steps. */
export function ledgerOfSteps(
  steps: readonly { role: string; meta: Record<string, unknown> }[],
  saved = 0,
): Ledger {
  const log = new AttemptLog({ saved });
  for (const [index, { role, meta }] of steps.entries()) {
    log.step(index + 1, { role, content: "", meta, timestamp: 0 });
  }
  return ledgerOf(log.attempts);
}

const add = (tallies: Map<string, Tally>, name: string, tally: Tally): void =>
  void tallies.set(name, addTally(tallies.get(name) ?? noTally, tally));
