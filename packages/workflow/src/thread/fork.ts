import type { Step } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../storage/names.ts";

/**
 * Which steps a fork keeps: all up to and including a role's last step (`coder`) or its second
 * (`coder#2`); the first N; or the very list, by number from 0.
 */
export type Keep = { fromRole: string } | { atStep: number } | { steps: number[] };

/**
 * The numbers of the steps that a fork keeps, ascending. Without `keep` the last step is left out,
 * and so done again.
 *
 * @throws WorkflowError `NO_SUCH_ROLE` or `NO_SUCH_STEP` (missing).
 */
export function keptSteps(steps: readonly Step[], keep?: Keep): number[] {
  if (!keep) return firstOf(Math.max(0, steps.length - 1));
  if ("fromRole" in keep) return firstOf(indexOfRole(steps, keep.fromRole) + 1);
  if ("atStep" in keep) return firstOf(checkCount(steps, keep.atStep));
  return checkList(steps, keep.steps);
}

function firstOf(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function indexOfRole(steps: readonly Step[], text: string): number {
  const at = occurrences(steps, text);
  if (at.length > 0) return at.at(-1) as number;
  const [, role, nth] = /^(.+)#([1-9][0-9]{0,8})$/.exec(text) ?? [];
  if (role !== undefined) {
    const found = occurrences(steps, role);
    const index = found[Number(nth) - 1];
    if (index !== undefined) return index;
    if (found.length > 0) {
      throw missing(
        "NO_SUCH_STEP",
        `the role ${show(role)} has ${found.length} steps, not ${nth}`,
        steps,
      );
    }
  }
  throw missing("NO_SUCH_ROLE", `no step of the thread has the role ${show(role ?? text)}`, steps);
}

function occurrences(steps: readonly Step[], role: string): number[] {
  return steps.flatMap((step, index) => (step.role === role ? [index] : []));
}

function checkCount(steps: readonly Step[], count: number): number {
  if (Number.isInteger(count) && count >= 0 && count <= steps.length) return count;
  throw missing("NO_SUCH_STEP", `the thread has ${steps.length} steps, not ${count}`, steps);
}

function checkList(steps: readonly Step[], list: number[]): number[] {
  for (const [place, index] of list.entries()) {
    const before = list[place - 1] ?? -1;
    if (!Number.isInteger(index) || index <= before || index >= steps.length) {
      throw missing("NO_SUCH_STEP", `${index} can't stand in the list of steps to keep`, steps);
    }
  }
  return list;
}

function missing(code: string, message: string, steps: readonly Step[]): WorkflowError {
  const roles = [...new Set(steps.map((step) => step.role))];
  const hint =
    roles.length === 0
      ? "the thread has no steps yet"
      : `its roles: ${roles.slice(0, 20).join(", ")}`;
  return new WorkflowError({ code, kind: "missing", message, hint });
}
