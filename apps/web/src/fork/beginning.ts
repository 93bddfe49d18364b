import { queryOptions } from "@tanstack/react-query";
import type { Rerun, RunValues } from "@uncaged/workflow-server/api-types";
import { readCheckpoint, readValues } from "../api/runs.ts";
import type { ForkPoint } from "./fork.ts";
import { type Limits, limitsOf } from "./limits.ts";

/** Where a new thread of a step workflow begins, and the values in force there. */
export type Beginning = RunValues;

/** What the server says of a point. It does not change, for the steps before it don't. */
export const beginningQuery = (threadId: string, { kind, number }: ForkPoint) =>
  queryOptions({
    queryKey: ["runs", threadId, kind, number],
    queryFn: ({ signal }) =>
      kind === "rerun" ? readValues(threadId, number, signal) : after(threadId, number, signal),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });

async function after(threadId: string, steps: number, signal: AbortSignal): Promise<Beginning> {
  const { params, variables, localVars } = await readCheckpoint(threadId, steps, signal);
  return { steps, stepID: null, path: [], within: null, params, variables, localVars };
}

/** The request for a rerun from there, with what was changed. */
export function rerunOf(
  threadId: string,
  { path, stepID, steps }: Beginning,
  overrides: Record<string, unknown>,
  limits: Limits,
): Rerun {
  const { on: workflowName, maxRounds } = limitsOf(limits);
  return {
    checkpoint: { threadId, steps },
    ...(stepID !== null && { stepID, path }),
    overrides,
    ...(workflowName !== undefined && { workflowName }),
    ...(maxRounds !== undefined && { maxRounds }),
  };
}
