import { END } from "../contract/contract.ts";
import type { Difference } from "./compare.ts";
import type { Run } from "./drive.ts";
import { faultText } from "./faults.ts";

/**
 * A difference between runs with faults and the undisturbed run. `role` is the role to check: the role that ran again
 * if an output or a file differs, else the role whose step differs.
 */
export type Divergence = {
  run: number;
  /** The number of runs that differ in this way. */
  runs: number;
  faults: string[];
  step: number | null;
  undisturbed: string | null;
  faulted: string | null;
  role: string | null;
  /** Whether an output or a file differs, and not the path or the end. */
  isEffect: boolean;
  /** The roles that ran more than once for one step. */
  again: string[];
};

/** Returns whether an output or a file differs, and not the path or the end. */
export const isEffect = ({ step, undisturbed, faulted }: Difference): boolean =>
  step === null || (undisturbed?.role === faulted?.role && faulted?.role !== END);

type Found = Divergence & { sides: string };

/**
 * The runs that differ. Of several runs with the same difference, keeps the run with the fewest repeated roles, then
 * with the fewest faults.
 */
export class Findings {
  readonly #found = new Map<string, Found>();
  readonly #whole: Run;

  constructor(whole: Run) {
    this.#whole = whole;
  }

  add(number: number, difference: Difference, run: Run): void {
    const { step, undisturbed, faulted } = difference;
    const repeated = run.executions.filter(({ times }) => times > 1);
    const again = [...new Set(repeated.map(({ role }) => role))];
    const roles = [faulted?.cause, faulted?.role, undisturbed?.cause, undisturbed?.role];
    const own = roles.flatMap((role) => (role && !role.startsWith("__") ? [role] : []));
    // A role that only one of the runs has is a better hint than the role after it.
    const only = own.find((role) => !(hasRole(run, role) && hasRole(this.#whole, role)));
    const found: Found = {
      ...{ run: number, runs: 1, step, isEffect: isEffect(difference), again },
      faults: run.faults.map((fault) => faultText(fault, this.#whole.boundaries.records)),
      undisturbed: undisturbed?.text ?? null,
      faulted: faulted?.text ?? null,
      role: (isEffect(difference) ? again[0] : only) ?? own[0] ?? null,
      sides: JSON.stringify([step, undisturbed?.role, faulted?.role]),
    };
    const key = `${found.sides} ${again.length > 1 ? "" : found.role}`;
    this.#keep(key, found);
  }

  /** Returns the findings, ordered by the number of repeated roles, then of faults. */
  all(): Divergence[] {
    const all = [...this.#found.values()].sort(byFaults);
    const kept: Found[] = [];
    for (const one of all) {
      // A finding with one repeated role explains the difference better than a finding with several.
      const known = kept.find((other) => isExplainedBy(one, other));
      if (known) known.runs += one.runs;
      else kept.push({ ...one });
    }
    return kept.map((one) => {
      const { sides: _, ...own } = one;
      return own;
    });
  }

  #keep(key: string, found: Found): void {
    const known = this.#found.get(key);
    const best = known && byFaults(known, found) <= 0 ? known : found;
    this.#found.set(key, { ...best, runs: (known?.runs ?? 0) + 1 });
  }
}

const byFaults = (a: Found, b: Found): number =>
  a.again.length - b.again.length || a.faults.length - b.faults.length;

const isExplainedBy = (one: Found, other: Found): boolean =>
  one.sides === other.sides &&
  (one.isEffect ? other.role !== null && one.again.includes(other.role) : one.role === other.role);

/** Returns whether a run has a step of a role, or a question with this name as its subject. */
const hasRole = ({ steps }: Run, name: string): boolean =>
  steps.some(({ role, meta }) => role === name || meta.for === name);
