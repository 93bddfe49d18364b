import { INPUT, type Step } from "../contract/contract.ts";
import type { WorkflowError } from "../contract/error.ts";
import { nearestName } from "../document/nearest.ts";
import type { InputRequest } from "../control/control.ts";
import type { ThreadRef } from "./thread.ts";
import {
  badKeptStep,
  notFound,
  roleNotFound,
  roleStepNotFound,
  stepNotFound,
  threadAmbiguous,
} from "./errors.ts";

const mostCandidates = 5;

/**
 * Returns the thread that a text selects: a whole id, a unique prefix or suffix in any case, or `@last`, the newest.
 * @throws WorkflowError `THREAD_NOT_FOUND` (missing), `THREAD_AMBIGUOUS` (usage).
 */
export function pickThread(threads: Iterable<ThreadRef>, text: string): ThreadRef {
  if (text === "@last") return newest(threads);
  const wanted = text.toUpperCase();
  const found = new Map<string, ThreadRef>();
  for (const thread of threads) {
    const { threadId } = thread;
    if (threadId === wanted) return thread;
    if (wanted === "") continue;
    if (threadId.startsWith(wanted) || threadId.endsWith(wanted)) found.set(threadId, thread);
  }
  const [only] = found.values();
  if (found.size === 1 && only) return only;
  throw found.size === 0 ? notFound(text) : ambiguous(text, [...found.keys()]);
}

function newest(threads: Iterable<ThreadRef>): ThreadRef {
  let last: ThreadRef | null = null;
  for (const thread of threads) if (!last || thread.threadId > last.threadId) last = thread;
  if (!last) throw notFound("@last");
  return last;
}

function ambiguous(text: string, ids: string[]): WorkflowError {
  const shown = ids.sort().slice(0, mostCandidates).join(", ");
  const more = ids.length > mostCandidates ? ` and ${ids.length - mostCandidates} more` : "";
  return threadAmbiguous(text, ids.length, `${shown}${more}`);
}

/**
 * Selects the steps that a fork keeps: all steps up to and including a role's last step (`coder`) or its second step
 * (`coder#2`); the first N; or a list of step numbers, from 0.
 */
export type Keep = { fromRole: string } | { atStep: number } | { steps: number[] };

/**
 * Returns the numbers of the steps that a fork keeps, ascending. Without `keep` the fork repeats the last step.
 * @throws WorkflowError `NO_SUCH_ROLE` or `NO_SUCH_STEP` (missing).
 */
export function keptSteps(steps: readonly Step[], keep?: Keep): number[] {
  if (!keep) return firstOf(Math.max(0, steps.length - 1));
  if ("fromRole" in keep) return firstOf(indexOfRole(steps, keep.fromRole) + 1);
  if ("atStep" in keep) return firstOf(checkCount(steps, keep.atStep));
  return checkList(steps, keep.steps);
}

/** Returns the numbers of the first `count` steps, from 0. */
export const firstOf = (count: number): number[] =>
  Array.from({ length: count }, (_, index) => index);

function indexOfRole(steps: readonly Step[], text: string): number {
  const last = steps.findLastIndex((step) => step.role === text);
  if (last >= 0) return last;
  const [, role = text, nth] = /^(.+)#([1-9][0-9]{0,8})$/.exec(text) ?? [];
  const found = steps.flatMap((step, index) => (step.role === role ? [index] : []));
  const index = found[Number(nth) - 1];
  if (index !== undefined) return index;
  const roles = rolesOf(steps);
  if (found.length === 0) throw roleNotFound(role, roles, nearestName(role, roles));
  throw roleStepNotFound({ name: role, steps: found.length }, nth, roles);
}

function checkCount(steps: readonly Step[], count: number): number {
  if (Number.isInteger(count) && count >= 0 && count <= steps.length) return count;
  throw stepNotFound(steps.length, count, rolesOf(steps));
}

function checkList(steps: readonly Step[], list: number[]): number[] {
  for (const [at, index] of list.entries()) {
    const before = list[at - 1] ?? -1;
    if (!Number.isInteger(index) || index <= before || index >= steps.length) {
      throw badKeptStep(index, rolesOf(steps));
    }
  }
  return list;
}

/** Returns the id that identifies a repeated answer: `meta.requestId`, if it is a text. */
export function requestIdOf({ meta }: Pick<InputRequest, "meta">): string | undefined {
  const id = meta?.requestId;
  return typeof id === "string" ? id : undefined;
}

/** Returns the request ids of the answers among these steps. */
export function takenIds(steps: readonly Step[]): string[] {
  const ids: string[] = [];
  for (const step of steps) {
    const id = step.role === INPUT ? requestIdOf(step) : undefined;
    if (id !== undefined) ids.push(id);
  }
  return ids;
}

const rolesOf = (steps: readonly Step[]): string[] => [...new Set(steps.map((step) => step.role))];
