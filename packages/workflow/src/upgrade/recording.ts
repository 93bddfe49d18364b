import { END, type RoleOutput, type Step, WAIT } from "../contract/contract.ts";
import { isRecord } from "../contract/show.ts";
import type { EndReason, StartRecord } from "../record/record.ts";

/** A thread to replay: its start record, its steps, and the reason of its end; null for an unfinished thread. */
export type Recording = { start: StartRecord; steps: Step[]; end: EndReason | null };

/**
 * Result of replaying a thread on another version. `continues`: the version follows the record and then continues.
 * `waits`: it follows the record up to an open question or a sleep. `ended`: the thread has ended, and the version
 * follows all its steps.
 */
export type ReplayStatus = "continues" | "diverges" | "waits" | "ended";

/**
 * The first difference: the number of the step, from 1, and both sides. A side is a role, a question as `__wait__ "for"`,
 * or `__end__`; `expected` can also be several concurrent roles, joined by ` or `, or the error of the version.
 * `recorded` is null after the last step of an unfinished thread, `expected` when only a role's name was compared.
 */
export type Difference = { step: number; recorded: string | null; expected: string | null };

/** A difference with the data to find its line: the stack of the version's code, or the role to look for. */
export type FoundDifference = Difference & { stack?: string; role?: string };

/** The result of one replay, from the child process. */
export type Verdict = { status: ReplayStatus; at: FoundDifference | null };

/**
 * `limitMs` is the time for each answer of the workflow in milliseconds. `onProgress` is called before each answer,
 * with the number of recorded steps before it; null while the workflow follows the whole record. `isSlow` gets an
 * answer after each step.
 */
export type ReplayOptions = {
  limitMs: number;
  onProgress: (count: number | null) => void;
  isSlow?: boolean;
};

/** Returns the name of a step for people: its role, and the subject of a question. */
export const sideOf = ({ role, meta }: Pick<RoleOutput, "role" | "meta">): string =>
  role === WAIT ? `${WAIT} ${JSON.stringify(meta?.for ?? null)}` : role;

/** Returns the recorded side of a difference after `count` steps. */
export function recordedSide({ steps, end }: Recording, count: number): string | null {
  const step = steps[count];
  if (step) return sideOf(step);
  return end === null ? null : END;
}

/** The expected side of a version that does nothing. */
export const silence = (limitMs: number): string => `nothing within ${limitMs / 1000} s`;

/** Whether an output is a recorded step, apart from its content: same role, same path, and same question. */
export const isSameStep = (output: RoleOutput, step: RoleOutput): boolean =>
  output.role === step.role &&
  JSON.stringify(output.meta?.path) === JSON.stringify(step.meta.path) &&
  (step.role !== WAIT || questionOf(output) === questionOf(step));

/**
 * Returns the roles whose work a step may come from: its own role, the asker of a question, the creator of a subtask,
 * and the parents of a child workflow's step.
 */
export function rolesOf({ role, meta }: RoleOutput): string[] {
  const askers =
    role === WAIT ? [meta.role, meta.stepID, meta.stepId, meta.nodeId] : [role, meta.by];
  return askers.filter(isText).flatMap(withParents);
}

/** Work of a role, and the iterations of the loops around it; null if they are unknown. */
export type Work = { role: string; iterations: readonly number[] | null };

/** Returns the iterations of the loops in a path. */
export const iterationsIn = (path: unknown): number[] =>
  (Array.isArray(path) ? path : []).flatMap((part: unknown) =>
    isRecord(part) && typeof part.iteration === "number" ? part.iteration : [],
  );

export const workOf = ({ role, meta }: RoleOutput): Work => ({
  role,
  iterations: iterationsIn(meta?.path),
});

/** Whether a step may come from some work: work around it, or work of its own role, but not in another iteration. */
export function isWorkOf({ role, iterations }: Work, step: RoleOutput): boolean {
  if (!rolesOf(step).includes(role)) return false;
  const wanted = iterationsIn(step.meta.path);
  // Another version may have other loops around the role.
  if (role !== step.role || iterations?.length !== wanted.length) return true;
  return iterations.every((one, index) => one === wanted[index]);
}

/** Returns the steps whose failures are recorded in a step, by name. */
export function failedIn({ meta: { failures } }: Pick<RoleOutput, "meta">): string[] {
  if (!Array.isArray(failures)) return [];
  return failures.map((one) => (isRecord(one) ? one.stepID : null)).filter(isText);
}

/** Returns the roles whose work a step may come from, the steps that failed before it, and the constructs around it. */
export function rolesAround(step: RoleOutput): string[] {
  const { path } = step.meta;
  const around = Array.isArray(path) ? path.map((part) => (isRecord(part) ? part.in : null)) : [];
  return [...rolesOf(step), ...failedIn(step), ...around.filter(isText)];
}

const isText = (value: unknown): value is string => typeof value === "string";

function withParents(role: string): string[] {
  const parts = role.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Returns the steps that follow a step, in the records of interpreters that keep them; null for other steps. */
export function routeOf({ meta }: RoleOutput): string | null {
  const { next, follows } = meta ?? {};
  if (Array.isArray(follows)) return follows.length === 0 ? "nothing" : follows.join(" and ");
  return typeof next === "string" ? next : null;
}

/** Whether steps are of a step workflow or a graph, which record their routes. A question comes before its step's. */
export const isRouted = (steps: readonly Step[]): boolean =>
  steps.some((step) => {
    const { stepID, nodeId } = step.meta;
    return routeOf(step) !== null || isText(stepID) || isText(nodeId);
  });

function questionOf({ meta }: RoleOutput): string {
  return JSON.stringify([meta?.for, meta?.role, meta?.nodeId, meta?.stepID, meta?.stepId]);
}
