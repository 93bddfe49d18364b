import { END, type RoleOutput, type Step } from "../contract/contract.ts";
import { sleepsUntil } from "../contract/wait.ts";
import { tryOf } from "../durable/output.ts";
import type { EndRecord } from "../record/record.ts";
import { stepIdentity } from "../testing/replay-everywhere.ts";
import type { Run } from "./drive.ts";

/**
 * The first difference between a run and an undisturbed run. `step` is a number from 1, the one after the last step for
 * the end. The roles are null where a side has no step.
 */
export type Difference = { step: number; undisturbed: Side | null; faulted: Side | null };

/** One side of a difference: the role of the step, or `__end__`, and the step or end in a few words. */
export type Side = { role: string; text: string };

/** What differs between undisturbed runs too, and is therefore not compared. */
export type Varying = { roles: ReadonlySet<string>; isEnd: boolean };

/** A step with the place of its work in the run. */
type Placed = { step: Step; key: string; at: number; openedAt: number };

/** Compares a run with an undisturbed run; null when they are alike. Concurrent steps may be in any order. */
export function differenceOf(whole: Run, run: Run, varying: Varying): Difference | null {
  const [before, after] = [placedIn(whole, varying), placedIn(run, varying)];
  const rest = [...after];
  for (const [index, one] of before.entries()) {
    const found = rest.findIndex(({ key }) => key === one.key);
    const passed = found < 0 ? rest.slice(0, 1) : rest.slice(0, found);
    const match = rest[found];
    const isAllowed = match !== undefined && passed.every((each) => mayPass(each, match, before));
    if (!isAllowed)
      return { step: index + 1, undisturbed: sideOf(one.step), faulted: nextOf(rest, run) };
    rest.splice(found, 1);
  }
  const [extra] = rest;
  if (extra) {
    return {
      step: before.length + 1,
      undisturbed: endSide(whole.end),
      faulted: sideOf(extra.step),
    };
  }
  const [end, ended] = [endSide(whole.end), endSide(run.end)];
  const isSame = varying.isEnd ? isAlike(whole.end, run.end) : end?.text === ended?.text;
  return isSame ? null : { step: before.length + 1, undisturbed: end, faulted: ended };
}

/** Returns what differs between undisturbed runs although they took the same steps. */
export function varyingIn(runs: readonly Run[]): Varying {
  const [first, ...others] = runs;
  const roles = new Set<string>();
  for (const other of others) {
    for (const [index, step] of first?.steps.entries() ?? []) {
      const twin = other.steps[index];
      if (twin?.role === step.role && stepIdentity(twin) !== stepIdentity(step))
        roles.add(step.role);
    }
  }
  const isEnd = others.some(
    (other) => endSide(other.end)?.text !== endSide(first?.end ?? null)?.text,
  );
  return { roles, isEnd };
}

const isAlike = (a: EndRecord | null, b: EndRecord | null): boolean =>
  a?.meta.reason === b?.meta.reason && a?.meta.returnCode === b?.meta.returnCode;

/** Failed tries and sleeps are the engine's answer to faults. */
const isOwn = (step: Step, index: number, steps: readonly Step[]): boolean =>
  tryOf(step) === null &&
  sleepsUntil(step) === null &&
  sleepsUntil(steps[index - 1] ?? null) === null;

function placedIn({ steps, openedAt }: Run, varying: Varying): Placed[] {
  return steps.flatMap((step, at) => {
    if (!isOwn(step, at, steps)) return [];
    const key = varying.roles.has(step.role) ? step.role : stepIdentity(step);
    return [{ step, key, at, openedAt: openedAt[at] ?? at }];
  });
}

/**
 * Whether a step may come before another that was first in the undisturbed run: the works on both overlapped, in this
 * run or in that.
 */
function mayPass(early: Placed, late: Placed, before: readonly Placed[]): boolean {
  if (late.openedAt <= early.at) return true;
  const [first, second] = [late, early].map(({ key }) => before.find((one) => one.key === key));
  return first !== undefined && second !== undefined && second.openedAt <= first.at;
}

const nextOf = ([next]: readonly Placed[], { end }: Run): Side | null =>
  next ? sideOf(next.step) : endSide(end);

const longest = 80;

const sideOf = ({ role, content, meta }: RoleOutput): Side => {
  const what = typeof meta.for === "string" ? ` for ${meta.for}` : "";
  return { role, text: `${role}${what} ${JSON.stringify(content.slice(0, longest))}` };
};

function endSide(end: EndRecord | null): Side | null {
  if (end === null) return null;
  const { returnCode, reason, value } = end.meta;
  const how = reason === "returned" ? `returned ${returnCode}` : reason;
  const data = value === undefined ? "" : ` with ${JSON.stringify(value).slice(0, longest)}`;
  return { role: END, text: `${how} ${JSON.stringify(end.content.slice(0, 2 * longest))}${data}` };
}
