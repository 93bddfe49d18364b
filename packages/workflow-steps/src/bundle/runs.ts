import type { RoleOutput } from "@uncaged/workflow";
import { ExecutionStatus } from "../document/constants.ts";
import type { PathPart } from "../state/commit.ts";
import { toldBy } from "./step.ts";

/**
 * How many steps of a thread come before a run of a step: its last one, or the `nth` from 1. A run
 * that has not been committed yet, because the step failed or comes next, is the last. For a construct
 * a run begins with the first step inside of it.
 *
 * Null when it has not run so often; all steps when it has not run at all and no `nth` is given.
 */
export function stepsBefore(steps: readonly RoleOutput[], id: string, nth?: number): number | null {
  const { starts, comesNext } = runsOf(steps, id);
  if (nth !== undefined) return starts[nth - 1] ?? null;
  return comesNext ? steps.length : (starts.at(-1) ?? steps.length);
}

function runsOf(
  steps: readonly RoleOutput[],
  id: string,
): { starts: number[]; comesNext: boolean } {
  const starts: number[] = [];
  const open = new Set<string>();
  const nexts = new Map<string, string>();
  for (const [index, step] of steps.entries()) {
    const told = toldBy(step, index + 1);
    if (told.kind !== "commit") continue;
    const { path, phase, next } = told.commit;
    const place = placeOf(id, step.role, path);
    if (place !== null && !open.has(place)) {
      open.add(place);
      starts.push(index);
    }
    if (step.role === id && phase === "done") open.delete(JSON.stringify(path));
    nexts.set(JSON.stringify(path), next);
  }
  return { starts, comesNext: [...nexts.values()].includes(id) };
}

/** The chain in which a step's commit is part of a run of `id`; null when it is none. */
function placeOf(id: string, role: string, path: readonly PathPart[]): string | null {
  const depth = path.findIndex((part) => part.in === id);
  if (depth >= 0) return JSON.stringify(path.slice(0, depth));
  return role === id ? JSON.stringify(path) : null;
}

/** The status of a run whose thread has this status and these steps. */
export function runStatus(status: string, steps: readonly RoleOutput[]): ExecutionStatus {
  const last = steps.at(-1);
  if (status === "completed") {
    return last && "stop" in last.meta ? ExecutionStatus.stopped : ExecutionStatus.completed;
  }
  const others: Readonly<Record<string, ExecutionStatus>> = {
    failed: ExecutionStatus.failed,
    killed: ExecutionStatus.cancelled,
    waiting: ExecutionStatus.paused,
  };
  return others[status] ?? ExecutionStatus.running;
}
