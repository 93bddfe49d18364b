import { addUsage, noUsage, totalTokens } from "@uncaged/workflow/interpreter";
import { type Attempt, AttemptLog } from "@uncaged/workflow/records";
import type { Usage } from "@uncaged/workflow";
import { rounded } from "./prices.ts";

/**
 * An amount spent. `cost` is the known part in US dollars. `unpriced` counts attempts with an unknown price, and each
 * model separately for attempts with several.
 */
export type Tally = { usage: Usage; tokens: number; cost: number; unpriced: number };

/**
 * The spending of one attempt. `model` is its last model. `saved`: copied from another thread. `lost`: led to no step.
 */
export type AttemptTally = Tally & {
  attempt: string;
  step: number | null;
  role: string;
  model: string | null;
  kind: "own" | "saved" | "lost";
};

/**
 * The spending of a thread: `total`, its part `lost` that led to no step, and `saved`, which a fork copied. `unknown`
 * counts model calls that broke off before they reported all tokens; reported tokens are included.
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

/** An empty tally. */
export const noTally: Tally = { usage: noUsage, tokens: 0, cost: 0, unpriced: 0 };

/** Adds two tallies. Costs are in US dollars, rounded like the costs of a ledger. */
export const addTally = (a: Tally, b: Tally): Tally => ({
  usage: addUsage(a.usage, b.usage),
  tokens: a.tokens + b.tokens,
  cost: rounded(a.cost + b.cost),
  unpriced: a.unpriced + b.unpriced,
});

/** Returns the tally of one usage. `cost` is null if its price is unknown. */
export function tallyOf(usage: Usage, cost: number | null): Tally {
  const tokens = totalTokens(usage);
  return { usage, tokens, cost: cost ?? 0, unpriced: cost === null && tokens > 0 ? 1 : 0 };
}

/**
 * Computes the ledger of a thread. An attempt counts when it has ended. A step that records its spending
 * includes the children of its attempt. Spending of another thread is in that thread's ledger.
 */
export function ledgerOf(attempts: readonly Attempt[]): Ledger {
  const byId = new Map(attempts.map((attempt) => [attempt.attempt, attempt]));
  const roles = new Map<string, Tally>();
  const models = new Map<string, Tally>();
  const sums = { own: noTally, saved: noTally, lost: noTally };
  const spent: AttemptTally[] = [];
  let unknown = 0;
  for (const attempt of attempts) {
    const above = ancestorsOf(attempt, byId);
    const kind = kindOf([attempt, ...above]);
    if (kind === null || above.some(({ recorded, paid }) => recorded && paid === null)) continue;
    // An unfinished step that a fork copied is in the fork's journal, and in the ledger of the thread that paid for it.
    if (kind === "saved" && !(attempt.saved && attempt.recorded)) continue;
    if (kind !== "saved") unknown += attempt.unknown;
    const parts = Object.entries(attempt.paid ?? attempt.models).map(
      ([model, { usage, cost }]) => [model, tallyOf(usage, cost)] as const,
    );
    const tally = parts.map(([, part]) => part).reduce(addTally, noTally);
    if (tally.tokens === 0 && tally.cost === 0) continue;
    const { attempt: id, step, model } = attempt;
    const named = [attempt, ...above].find((one) => one.role !== null);
    const role = named?.role ?? attempt.stepID ?? "agent";
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

function ancestorsOf(attempt: Attempt, byId: ReadonlyMap<string, Attempt>): Attempt[] {
  const above: Attempt[] = [];
  for (let one = byId.get(attempt.parent ?? ""); one; one = byId.get(one.parent ?? "")) {
    if (above.includes(one)) break;
    above.push(one);
  }
  return above;
}

/** Returns the kind of an attempt with these ancestors, or null while the attempt runs. */
function kindOf(family: readonly Attempt[]): AttemptTally["kind"] | null {
  const root = family.at(-1);
  if (root?.status === "running") return null;
  if (family.some(({ saved }) => saved)) return "saved";
  const goesOn = root?.status === "committed" || root?.status === "parked";
  const isOwn = goesOn || family.some(({ step }) => step !== null);
  return isOwn ? "own" : "lost";
}

const add = (tallies: Map<string, Tally>, name: string, tally: Tally): void =>
  void tallies.set(name, addTally(tallies.get(name) ?? noTally, tally));
