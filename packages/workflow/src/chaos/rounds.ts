import { differenceOf, type Difference, type Varying, varyingIn } from "./compare.ts";
import { drive, type Run, type Scene } from "./drive.ts";
import { type Fault, faultsOf, faultText, isSeen, singleFaults } from "./faults.ts";

/** A run that differs from the undisturbed run. `again`: the roles that ran more than once for one step. */
export type Divergence = Difference & { run: number; faults: string[]; again: string[] };

/** The facts of all runs. */
export type Facts = {
  runs: number;
  /** The number of injected faults. */
  faults: number;
  /** The roles that ran more than once for one step, with the most executions. */
  repeated: { role: string; times: number }[];
  diverged: Divergence[];
  /** The run to repeat: the first that diverged, else the one with the most repetitions; null without runs. */
  worst: number | null;
  /** How the undisturbed run ended, in the log's words; null when it waits. */
  end: { returnCode: number; reason: string; summary: string } | null;
};

/** `only`: the single run to make. `runs`: by default, as many as there are faults at the boundaries. */
export type Rounds = { runs: number | null; only: number | null };

const leastRuns = 50;
const mostRuns = 500;
/** Undisturbed runs, each at another time and with other random numbers. */
const undisturbed = [0, -1, -2];

/** Runs a workflow undisturbed, then under the faults of each run, and compares the runs. */
export async function runAll(scene: Scene, { runs, only }: Rounds): Promise<Facts> {
  const wholes: Run[] = [];
  for (const number of undisturbed) wholes.push(await drive(scene, number, []));
  const [whole] = wholes as [Run];
  const varying = varyingIn(wholes);
  const count =
    runs ?? Math.min(mostRuns, Math.max(leastRuns, singleFaults(whole.boundaries).length));
  const facts: Facts = {
    runs: 0,
    faults: 0,
    repeated: [],
    diverged: [],
    worst: null,
    end: endOf(whole),
  };
  const times = new Map<string, number>();
  const note = (run: Run): number => {
    let most = 1;
    for (const { role, times: n } of run.executions) {
      if (n > 1) times.set(role, Math.max(times.get(role) ?? 0, n));
      most = Math.max(most, n);
    }
    return most;
  };
  for (const [index, again] of wholes.entries()) {
    const difference = differenceOf(whole, again, varying);
    if (difference)
      facts.diverged.push(divergence(difference, undisturbed[index] ?? 0, again, whole));
  }
  let worst = { number: null as number | null, most: 0 };
  const numbers = only === null ? Array.from({ length: count }, (_, at) => at + 1) : [only];
  if (facts.diverged.length > 0) numbers.splice(0);
  for (const number of numbers) {
    const faults = faultsOf(whole.boundaries, scene.seed, number);
    const run = await drive(scene, number, faults);
    const expected = await expectedOf(scene, number, { faults, run, whole });
    facts.runs += 1;
    facts.faults += run.faults.length;
    const most = note(run);
    if (most > worst.most) worst = { number, most };
    const difference = differenceOf(expected, run, varying);
    if (difference) facts.diverged.push(divergence(difference, number, run, whole));
  }
  facts.repeated = [...times].map(([role, most]) => ({ role, times: most }));
  facts.worst = facts.diverged[0]?.run ?? worst.number;
  return facts;
}

/**
 * Returns the run to compare with: the undisturbed run; or, when the workflow itself handled an injected error, a run
 * with the same errors and no other fault.
 */
async function expectedOf(
  scene: Scene,
  number: number,
  { faults, run, whole }: { faults: readonly Fault[]; run: Run; whole: Run },
): Promise<Run> {
  if (!run.hasCaught) return whole;
  return await drive(scene, number, faults.filter(isSeen));
}

function divergence(difference: Difference, number: number, run: Run, whole: Run): Divergence {
  const texts = run.faults.map((fault) => faultText(fault, whole.boundaries.records));
  const again = run.executions.filter(({ times }) => times > 1).map(({ role }) => role);
  return { ...difference, run: number, faults: texts, again: [...new Set(again)] };
}

const endOf = ({ end }: Run): Facts["end"] =>
  end && { returnCode: end.meta.returnCode, reason: end.meta.reason, summary: end.content };
