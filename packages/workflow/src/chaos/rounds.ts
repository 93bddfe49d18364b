import { END } from "../contract/contract.ts";
import { system } from "../system/system.ts";
import { type Divergence, Findings, isEffect } from "./findings.ts";
import {
  type Difference,
  differenceOf,
  endDifference,
  hasSide,
  noteVarying,
  type Varying,
  varyingIn,
} from "./compare.ts";
import { drive, type Plan, type Run, type Scene } from "./drive.ts";
import { neverEnds } from "./errors.ts";
import { faultsOf, isSeen, singleFaults } from "./faults.ts";

/** The result of all runs. */
export type Facts = {
  runs: number;
  /** The number of injected faults. */
  faults: number;
  /** The roles that ran more than once for one step, each with its highest number of executions. */
  repeated: { role: string; times: number }[];
  diverged: Divergence[];
  /** The run to repeat: the first divergent run, else the run with the most repetitions. 0: an undisturbed run. */
  worst: number;
  /** The end of the undisturbed run; null when it waits. */
  end: { reason: string; summary: string } | null;
};

/**
 * The runs to make: only the run with the number `only`, or as many as `runs`. By default, one for each fault, but at
 * least 50 and at most 500.
 */
export type Rounds = { runs: number | null; only: number | null };

const leastRuns = 50;
const mostRuns = 500;
const longestRunMs = 60_000;
/**
 * Plans of undisturbed runs, at other times of the day, week and year, and with other random numbers. The second run
 * shares the process of the first.
 */
const plansOfWholes: Plan[] = [
  { number: 0 },
  { number: 0, isSecond: true },
  ...[29, 58, 87, 116, 145, 174, 203, 232, 261, 2200].map((hour) => ({ number: 0, hour })),
];

/** Runs a workflow undisturbed, then under the faults of each run, and compares the runs. */
export async function runAll(scene: Scene, rounds: Rounds): Promise<Facts> {
  const wholes: Run[] = [];
  for (const plan of plansOfWholes) {
    const run = await inTime(scene, plan);
    wholes.push(run);
    scene.patienceMs = Math.max(scene.patienceMs, 2 * run.longestMs);
  }
  const [first] = wholes as [Run];
  const whole = wholes.find(({ end }) => end?.meta.reason !== "failed") ?? first;
  const { varying, unexplained } = varyingIn(whole, wholes);
  const session = new Session(scene, whole, varying);
  for (const [index, difference] of unexplained.entries()) {
    const run = wholes[index];
    if (difference && run) session.findings.add(0, difference, run);
  }
  if (session.findings.all().length > 0 || whole.end?.meta.reason === "failed")
    return session.facts();
  for (const number of numbersOf(rounds, singleFaults(whole.boundaries).length)) {
    if (!(await session.round(number))) break;
  }
  return session.facts();
}

function numbersOf({ runs, only }: Rounds, faults: number): number[] {
  if (only !== null) return [only];
  const count = runs ?? Math.min(mostRuns, Math.max(leastRuns, faults));
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** Makes a run, with a time limit. @throws WorkflowError `CHAOS_FAILED` when the run exceeds the limit */
async function inTime(scene: Scene, plan: Plan): Promise<Run> {
  const late = Promise.withResolvers<never>();
  const cancel = system.clock.after(longestRunMs, () => late.reject(neverEnds(longestRunMs)));
  try {
    return await Promise.race([drive(scene, plan), late.promise]);
  } finally {
    cancel();
  }
}

/** The runs under faults, and their differences from one undisturbed run. */
class Session {
  readonly #scene: Scene;
  readonly #whole: Run;
  readonly #varying: Varying;
  readonly #times = new Map<string, number>();
  readonly findings: Findings;
  #worst = { number: 0, most: 0 };
  #runs = 0;
  #faults = 0;

  constructor(scene: Scene, whole: Run, varying: Varying) {
    this.#scene = scene;
    this.#whole = whole;
    this.#varying = varying;
    this.findings = new Findings(whole);
  }

  /** Makes a run under its faults. Returns false when it fails or does not end in time: its roles may still run. */
  async round(number: number): Promise<boolean> {
    const [scene, whole] = [this.#scene, this.#whole];
    const faults = faultsOf(whole.boundaries, scene.seed, number);
    this.#runs += 1;
    let run: Run;
    try {
      run = await inTime(scene, { number, faults });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const faulted = { role: END, text, key: text };
      const cut = { ...whole, faults, executions: [] };
      const late = { step: null, undisturbed: null, isExplained: false };
      this.findings.add(number, { ...late, faulted }, cut);
      return false;
    }
    this.#faults += run.faults.length;
    let most = 0;
    for (const { role, times } of run.executions) {
      most = Math.max(most, times);
      if (times > 1) this.#times.set(role, Math.max(this.#times.get(role) ?? 0, times));
    }
    if (most > this.#worst.most) this.#worst = { number, most };
    const difference = await this.#confirmed({ number, faults }, run);
    if (difference) this.findings.add(number, difference, run);
    return true;
  }

  facts(): Facts {
    const { end } = this.#whole;
    const diverged = this.findings.all();
    return {
      ...{ runs: this.#runs, faults: this.#faults },
      repeated: [...this.#times].map(([role, times]) => ({ role, times })),
      diverged,
      worst: diverged[0]?.run ?? this.#worst.number,
      end: end && { reason: end.meta.reason, summary: end.content },
    };
  }

  /**
   * Returns the difference of a run. A difference of an output or a file must also occur in a second run with the same
   * faults: otherwise it is due to chance, such as a measured time, and counts as varying.
   */
  async #confirmed(plan: Plan, run: Run): Promise<Difference | null> {
    let difference = await this.#difference(plan.number, run);
    if (!difference || !isEffect(difference)) return difference;
    const second = await inTime(this.#scene, plan);
    while (difference && isEffect(difference) && !isIn(second, difference)) {
      noteVarying(difference, this.#varying);
      difference = await this.#difference(plan.number, run);
    }
    return difference;
  }

  /**
   * Compares a run with the undisturbed run, or, if the workflow itself handled an injected error, with a run that has
   * the same errors and no other faults. If paths or ends vary, also continues the run's log in another run, which must
   * have the same end.
   */
  async #difference(number: number, run: Run): Promise<Difference | null> {
    const [scene, varying] = [this.#scene, this.#varying];
    const faults = run.faults.filter(isSeen);
    const expected = run.hasCaught ? await inTime(scene, { number, faults }) : this.#whole;
    const difference = differenceOf(expected, run, varying);
    if (difference || !(varying.isPath || varying.isEnd)) return difference;
    return endDifference(run, await inTime(scene, { number: number + 1, log: run.log }));
  }
}

const isIn = (run: Run, { undisturbed, faulted }: Difference): boolean =>
  hasSide(run, faulted, undisturbed);
