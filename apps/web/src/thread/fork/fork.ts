import { queryOptions } from "@tanstack/react-query";
import type {
  ForkThread,
  NumberedStep,
  Rerun,
  RunValues,
} from "@uncaged/workflow-server/api-types";
import { formatJson, readObject } from "../../lib/json.ts";
import { type ForkPoint, problemOfRounds, readCheckpoint, readValues } from "../../lib/threads.ts";

export const keptBy = ({ kind, number }: ForkPoint): number =>
  kind === "fork" ? number : number - 1;

/** The editable values of a fork, as texts. */
export type ForkDraft = Limits & {
  prompt: string;
  /** The content of the last kept step. */
  content: string;
  meta: string;
};

/** The editable values at a point of a thread. */
export function draftAt(
  point: ForkPoint,
  steps: readonly NumberedStep[],
  prompt: string,
): ForkDraft {
  const last = steps[keptBy(point) - 1];
  return {
    prompt,
    content: last?.content ?? "",
    meta: formatJson(last?.meta ?? {}) ?? "{}",
    on: "",
    maxRounds: "",
  };
}

export function problemsIn(draft: ForkDraft): Partial<Record<keyof ForkDraft, string>> {
  const meta = readObject(draft.meta).problem;
  return { ...(meta !== null && { meta }), ...problemOfRounds(draft.maxRounds) };
}

/** The request for a new thread: the kept steps and the changed values. */
export function forkOf(point: ForkPoint, before: ForkDraft, after: ForkDraft): ForkThread {
  const edit = {
    ...(after.content !== before.content && { content: after.content }),
    ...(after.meta !== before.meta && { meta: readObject(after.meta).value ?? {} }),
  };
  return {
    keep: { atStep: keptBy(point) },
    ...(after.prompt !== before.prompt && { prompt: after.prompt }),
    ...(Object.keys(edit).length > 0 && { edit }),
    ...limitsOf(after),
  };
}

/** Version and limit of rounds of a new thread, as texts; empty for no change. */
export type Limits = { on: string; maxRounds: string };

export const limitsOf = ({ on, maxRounds }: Limits): { on?: string; maxRounds?: number } => ({
  ...(on !== "" && { on }),
  ...(maxRounds.trim() !== "" && { maxRounds: Number(maxRounds) }),
});

/** The values at a point of a thread. They never change. */
export const valuesQuery = (threadId: string, { kind, number }: ForkPoint) =>
  queryOptions({
    queryKey: ["runs", threadId, kind, number],
    queryFn: ({ signal }) =>
      kind === "rerun"
        ? readValues(threadId, number, signal)
        : valuesAfter(threadId, number, signal),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });

async function valuesAfter(
  threadId: string,
  steps: number,
  signal: AbortSignal,
): Promise<RunValues> {
  const { params, variables, localVars } = await readCheckpoint(threadId, { steps }, signal);
  return { steps, stepID: null, path: [], within: null, params, variables, localVars };
}

export function rerunOf(
  threadId: string,
  { path, stepID, steps }: RunValues,
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
