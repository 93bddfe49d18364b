import { queryOptions } from "@tanstack/react-query";
import type {
  ForkThread,
  NumberedStep,
  Rerun,
  RunValues,
  Thread,
} from "@uncaged/workflow-server/api-types";
import { formatJson, readJson, readObject } from "../../lib/json.ts";
import { type ForkPoint, problemOfRounds, readCheckpoint, readValues } from "../../lib/threads.ts";

export const keptBy = ({ kind, number }: ForkPoint): number =>
  kind === "fork" ? number : number - 1;

/** The editable values of a fork, as texts. */
export type ForkDraft = Limits & {
  prompt: string;
  /** The params as JSON; empty for a thread without params. */
  params: string;
  /** The content of the last kept step. */
  content: string;
  meta: string;
};

/** The editable values at a point of a thread. */
export function draftAt(
  point: ForkPoint,
  steps: readonly NumberedStep[],
  { prompt, params }: Pick<Thread, "prompt" | "params">,
): ForkDraft {
  const last = steps[keptBy(point) - 1];
  return {
    prompt,
    params: params === undefined ? "" : (formatJson(params) ?? ""),
    content: last?.content ?? "",
    meta: formatJson(last?.meta ?? {}) ?? "{}",
    on: "",
    maxRounds: "",
  };
}

/** The problems of a changed draft. Unchanged values are valid, and may be long. */
export function problemsIn(
  before: ForkDraft,
  after: ForkDraft,
): Partial<Record<keyof ForkDraft, string>> {
  const meta = after.meta === before.meta ? null : readObject(after.meta).problem;
  const params = after.params === before.params ? null : readJson(after.params).problem;
  return {
    ...(meta !== null && { meta }),
    ...(params !== null && { params }),
    ...problemOfRounds(after.maxRounds),
  };
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
    ...(after.params !== before.params && { params: readJson(after.params).value }),
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
