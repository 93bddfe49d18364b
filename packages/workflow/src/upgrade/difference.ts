import { END, type RoleOutput, type Step } from "../contract/contract.ts";
import { codeIn, messageOf } from "../contract/error.ts";
import { isRecord } from "../contract/show.ts";
import type { Probe } from "./probe.ts";
import {
  type FoundDifference,
  type Recording,
  recordedSide,
  routeOf,
  silence,
} from "./recording.ts";

/**
 * Whether a version fails after recorded steps after which the thread continued or returned. A thread that has used all
 * its steps is at its own limit, which is not a failure of the version.
 */
export function isBroken({ end, asked }: Probe, { end: reason }: Recording): boolean {
  if (end.by !== "threw") return end.by === "silent";
  if (end.isDivergence) return true;
  const isSound = reason === null || reason === "returned";
  return isSound && asked.length === 0 && !(reason === null && isAtLimit(end.thrown));
}

const isAtLimit = (thrown: unknown): boolean =>
  isRecord(thrown) && codeIn(thrown) === "ROUND_LIMIT";

/** Returns the difference of a version whose action after `count` recorded steps is not the recorded action. */
export function difference(
  recording: Recording,
  count: number,
  { asked, end }: Pick<Probe, "asked" | "end">,
  limitMs: number,
): FoundDifference {
  const sides = { step: count + 1, recorded: recordedSide(recording, count) };
  if (asked.length > 0) return { ...sides, expected: asked.join(" or "), role: asked[0] };
  const role = recording.steps[count]?.role;
  if (end.by === "returned") return { ...sides, expected: END, ...(role && { role }) };
  if (end.by !== "threw") return { ...sides, expected: silence(limitMs) };
  return { ...sides, expected: errorText(end.thrown), ...stackOf(end.thrown) };
}

const longest = 300;

function errorText(thrown: unknown): string {
  const name = thrown instanceof Error ? thrown.name : "Error";
  const [line = ""] = messageOf(thrown).split("\n", 1);
  return `${name}: ${line}`.slice(0, longest);
}

/** Returns the stack of a thrown value, if it has one. */
export function stackOf(thrown: unknown): { stack?: string } {
  const stack = isRecord(thrown) ? thrown.stack : undefined;
  return typeof stack === "string" ? { stack: stack.slice(0, 4_000) } : {};
}

/** Returns both sides of a step that leads to other steps than the recorded step; null if there is no difference. */
export function turnOf(
  wanted: Step,
  given: RoleOutput | null,
  step: number,
): FoundDifference | null {
  const [recorded, expected] = [routeOf(wanted), given && routeOf(given)];
  if (recorded === null || expected === null || recorded === expected) return null;
  const { role } = wanted;
  return {
    step,
    recorded: `${role}, then ${recorded}`,
    expected: `${role}, then ${expected}`,
    role,
  };
}
