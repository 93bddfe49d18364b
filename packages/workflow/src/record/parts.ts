import type { Attempt } from "./attempt.ts";
import { type Tally, tallyOf } from "./tally.ts";

/**
 * The part of a thread's spending that belongs to one attempt, by model. `saved`: another thread paid for it. `lost`:
 * the attempt did not lead to a step. `running`: the attempt has not ended.
 */
export type SpendingPart = {
  attempt: Attempt;
  role: string;
  kind: "own" | "saved" | "lost" | "running";
  models: (readonly [model: string, tally: Tally])[];
};

/**
 * Splits the spending of a thread by attempt. An attempt whose step records its spending includes its children, which
 * then do not have a separate part.
 */
export function* spendingParts(attempts: readonly Attempt[]): Generator<SpendingPart> {
  const byId = new Map(attempts.map((attempt) => [attempt.attempt, attempt]));
  for (const attempt of attempts) {
    const above = ancestorsOf(attempt, byId);
    if (above.some(({ recorded, paid }) => recorded && paid === null)) continue;
    const kind = kindOf([attempt, ...above]);
    // An unfinished step that a fork copied is in the fork's journal, and in the ledger of the thread that paid for the
    // step.
    if (kind === "saved" && !(attempt.saved && attempt.recorded)) continue;
    const models = Object.entries(attempt.paid ?? attempt.models).map(
      ([model, { usage, cost }]) => [model, tallyOf(usage, cost)] as const,
    );
    const named = [attempt, ...above].find((one) => one.role !== null);
    yield { attempt, role: named?.role ?? attempt.stepID ?? "agent", kind, models };
  }
}

function ancestorsOf(attempt: Attempt, byId: ReadonlyMap<string, Attempt>): Attempt[] {
  const above: Attempt[] = [];
  for (let one = byId.get(attempt.parent ?? ""); one; one = byId.get(one.parent ?? "")) {
    if (above.includes(one)) break;
    above.push(one);
  }
  return above;
}

function kindOf(family: readonly Attempt[]): SpendingPart["kind"] {
  const root = family.at(-1);
  if (root?.status === "running") return "running";
  if (family.some(({ saved }) => saved)) return "saved";
  const goesOn = root?.status === "committed" || root?.status === "parked";
  const isOwn = goesOn || family.some(({ step }) => step !== null);
  return isOwn ? "own" : "lost";
}
