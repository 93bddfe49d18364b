import { INPUT, type Step, WAIT, type WorkflowFn } from "../contract/contract.ts";
import { difference, isBroken, turnOf } from "./difference.ts";
import { type Probe, probe } from "./probe.ts";
import {
  failedIn,
  type FoundDifference,
  isRouted,
  isWorkOf,
  type Recording,
  type ReplayOptions,
  rolesOf,
  type Work,
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

const keyOf = ({ role, iterations }: Work): string => JSON.stringify([role, iterations]);

/** The number of tasks in flight, by role and iteration. */
class Beside {
  readonly #works = new Map<string, { work: Work; count: number }>();

  /** Whether a recorded step may be the result of work in flight. */
  has(step: Step): boolean {
    return this.#find(step) !== undefined;
  }

  /** Takes a recorded step, which ends its work, and the work that has started before that step. */
  pass(step: Step, started: readonly Work[]): void {
    const groups = Map.groupBy(started, keyOf);
    for (const [work, ...more] of groups.values()) if (work) this.#raise(work, 1 + more.length);
    const ended = this.#find(step);
    if (ended !== undefined) ended.count -= 1;
    if (step.role !== WAIT) return;
    // The step that asks continues after the answer. A role that returns a question does not.
    for (const role of rolesOf({ ...step, meta: { ...step.meta, role: null } }))
      this.#raise({ role, iterations: null }, 1);
  }

  #find(step: Step): { count: number } | undefined {
    const works = [...this.#works.values()];
    const found = works.filter(({ work, count }) => count > 0 && isWorkOf(work, step));
    const isOwn = ({ work }: { work: Work }) => work.role === step.role;
    return found.find(isOwn) ?? found[0];
  }

  #raise(work: Work, least: number): void {
    const key = keyOf(work);
    const count = Math.max(least, this.#works.get(key)?.count ?? 0);
    this.#works.set(key, { work, count });
  }
}
