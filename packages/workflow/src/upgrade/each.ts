import { INPUT, type Step, WAIT, type WorkflowFn } from "../contract/contract.ts";
import { difference, isBroken, turnOf } from "./difference.ts";
import { type Probe, probe } from "./probe.ts";
import {
  failedIn,
  type FoundDifference,
  isRouted,
  type Recording,
  type ReplayOptions,
  rolesOf,
} from "./recording.ts";
import { surroundReplay } from "./surroundings.ts";

/**
 * Runs a workflow after each recorded step to get its next step; returns the first difference. The recorded step may
 * also be the result of work that ran beside earlier steps: concurrent work ends in any order.
 */
export async function each(
  run: WorkflowFn,
  recording: Recording,
  { limitMs, onProgress }: ReplayOptions,
): Promise<FoundDifference | null> {
  const { start, steps } = recording;
  const areRouted = isRouted(steps);
  const beside = new Beside();
  const last = steps.at(-1);
  for (let count = start.forkFrom?.steps ?? 0; count < steps.length; count += 1) {
    const wanted = steps[count];
    if (wanted === undefined || wanted.role === INPUT) continue;
    const before = steps[count - 1]?.timestamp ?? start.timestamp;
    const ask = (now: number, isBroad: boolean) => {
      surroundReplay(now, "whole");
      onProgress(count);
      return probe(run, recording, count, { wanted, limitMs, isIdle: !areRouted, isBroad });
    };
    const probes = [await ask(before, false)];
    const isFound = () => probes.at(-1)?.isWanted || probes.at(-1)?.end.by === "silent";
    // The next step may depend on the clock, as after a delay of a retry.
    if (!isFound()) probes.push(await ask(wanted.timestamp, false));
    if (areRouted && !isFound()) probes.push(await ask(before, true));
    const found = probes.findLast(({ isWanted }) => isWanted);
    const [first] = probes;
    // An ended thread has no steps after its last one.
    const isEnd = wanted === last && recording.end !== null;
    const turn = found && !isEnd ? turnOf(wanted, found.given, count + 1) : null;
    if (turn !== null) return turn;
    const isExpected =
      found || beside.has(wanted) || (areRouted && isRepeated(steps, count, probes));
    if (first && !isExpected) return difference(recording, count, first, limitMs);
    beside.pass(wanted, found?.started ?? []);
  }
  if (last?.role === WAIT) return null;
  surroundReplay(last?.timestamp ?? start.timestamp, "whole");
  onProgress(steps.length);
  const found = await probe(run, recording, steps.length, { limitMs });
  return isBroken(found, recording) ? difference(recording, steps.length, found, limitMs) : null;
}

/**
 * Whether a resume repeats failed work in place of the recorded step: work whose failure was dropped, work of a child
 * workflow that ended with a dropped failure, or work whose failure the step handles, and which other work hides.
 */
function isRepeated(steps: readonly Step[], count: number, probes: readonly Probe[]): boolean {
  if (probes.some(({ isUnhandled }) => isUnhandled)) return true;
  const dropped = new Set(steps.slice(0, count).flatMap(failedIn));
  const asked = probes[0]?.asked ?? [];
  const repeated = asked.filter((role) => dropped.has(role));
  if (repeated.some((role) => role.startsWith(`${steps[count]?.role}/`))) return true;
  return repeated.length > 0 && repeated.length === asked.length;
}

/** The number of tasks in flight, by role. */
class Beside {
  readonly #counts = new Map<string, number>();

  /** Whether a recorded step may be the result of work in flight. */
  has(step: Step): boolean {
    return this.#find(step) !== undefined;
  }

  /** Takes a recorded step, which ends its work, and the work that has started before that step. */
  pass(step: Step, started: readonly string[]): void {
    for (const [role, { length }] of Map.groupBy(started, (one) => one)) this.#raise(role, length);
    const ended = this.#find(step);
    if (ended !== undefined) this.#counts.set(ended, this.#count(ended) - 1);
    if (step.role !== WAIT) return;
    // The step that asks continues after the answer. A role that returns a question does not.
    for (const role of rolesOf({ ...step, meta: { ...step.meta, role: null } }))
      this.#raise(role, 1);
  }

  #find(step: Step): string | undefined {
    return rolesOf(step).find((role) => this.#count(role) > 0);
  }

  #count(role: string): number {
    return this.#counts.get(role) ?? 0;
  }

  #raise(role: string, least: number): void {
    this.#counts.set(role, Math.max(least, this.#count(role)));
  }
}
