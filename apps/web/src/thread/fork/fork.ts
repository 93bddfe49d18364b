import { queryOptions } from "@tanstack/react-query";
import type {
  ForkThread,
  NumberedStep,
  Rerun,
  RunValues,
  Thread,
} from "@uncaged/workflow-server/api-types";
import { isRecord } from "../../lib/json.ts";
import {
  type ForkPoint,
  forkThread,
  readCheckpoint,
  readValues,
  startRerun,
} from "../../lib/threads.ts";
import { problemOf, type ValueEdit, valueOf } from "../../lib/value-edits.ts";
import type { TraceRow } from "../trace/rows.ts";

export const keptBy = ({ kind, number }: ForkPoint): number =>
  kind === "fork" ? number : number - 1;

type Values = Readonly<Record<string, unknown>>;

/** Version and limit of rounds of a new thread, as texts; empty for no change. */
export type Limits = { on: string; maxRounds: string };

/** The values that a new thread starts with, by their labels. */
export type Start = {
  groups: readonly {
    title?: string;
    values: Values;
    /** Whether the values are shown with the limits, because they rarely change. */
    isSeldom?: boolean;
  }[];
  /** Whether strings can be edited only as text, and other values only as JSON. */
  isFixed?: boolean;
  note?: string | null;
  problemOf: (name: string, edit: ValueEdit) => string | null;
  /** Starts the thread with the changed values. Resolves to its id. */
  make: (changed: Values, limits: Limits) => Promise<string>;
};

const limitsOf = ({ on, maxRounds }: Limits): { on?: string; maxRounds?: number } => ({
  ...(on !== "" && { on }),
  ...(maxRounds.trim() !== "" && { maxRounds: Number(maxRounds) }),
});

/** A new thread of roles starts with the params, the prompt, and content and meta of the last kept step. */
export function startOfRoles(
  { threadId, prompt, params }: Pick<Thread, "threadId" | "prompt" | "params">,
  point: ForkPoint,
  steps: readonly NumberedStep[],
): Start {
  const kept = steps[keptBy(point) - 1];
  const { content, meta } = labelsOf(kept);
  const values = {
    ...(params !== undefined && { Params: params }),
    ...(kept && { [content]: kept.content, [meta]: withoutMark(kept) }),
  };
  return {
    groups: [{ values }, { values: { Prompt: prompt }, isSeldom: kept !== undefined }],
    isFixed: true,
    problemOf: (name, edit) =>
      problemOf(edit) ??
      (name === meta && !isRecord(valueOf(edit)) ? "This must be an object: { … }" : null),
    make: async (changed, limits) =>
      (await forkThread(threadId, forkOf(point, kept, changed, limits))).threadId,
  };
}

const labelsOf = (kept: NumberedStep | undefined) => {
  const of = kept ? `of step ${kept.number}, ${kept.role}` : "";
  return { content: `Content ${of}`, meta: `Meta ${of}` };
};

/** The meta of a step without the mark of durable code, which is not shown. */
const withoutMark = ({ meta }: NumberedStep): Values =>
  Object.fromEntries(Object.entries(meta).filter(([name]) => name !== "__durable__"));

/** The request for a new thread: the kept steps and the changed values. */
export function forkOf(
  point: ForkPoint,
  kept: NumberedStep | undefined,
  changed: Values,
  limits: Limits,
): ForkThread {
  const { content, meta } = labelsOf(kept);
  const { __durable__: mark } = kept?.meta ?? {};
  const edit = {
    ...(content in changed && { content: String(changed[content]) }),
    ...(isRecord(changed[meta]) && {
      meta: { ...changed[meta], ...(mark !== undefined && { __durable__: mark }) },
    }),
  };
  return {
    keep: { atStep: keptBy(point) },
    ...("Prompt" in changed && { prompt: String(changed.Prompt) }),
    ...("Params" in changed && { params: changed.Params }),
    ...(Object.keys(edit).length > 0 && { edit }),
    ...limitsOf(limits),
  };
}

/** A new thread of a step workflow starts with its variables and params. */
export function startOfSteps(threadId: string, { kind }: ForkPoint, begin: RunValues): Start {
  const { params, variables, localVars, within, steps } = begin;
  return {
    groups: [
      { title: "Variables", values: variables },
      { title: "Locals", values: localVars },
      { title: "Params", values: params },
    ],
    note:
      within &&
      `This step belongs to the workflow that ${within} runs. The values are from that workflow.`,
    problemOf: (_, edit) => problemOf(edit),
    async make(changed, limits) {
      if (kind === "rerun" || Object.keys(changed).length > 0)
        return (await startRerun(rerunOf(threadId, begin, changed, limits))).runID;
      const request = { keep: { atStep: steps }, ...limitsOf(limits) };
      return (await forkThread(threadId, request)).threadId;
    },
  };
}

export function rerunOf(
  threadId: string,
  { path, stepID, steps }: RunValues,
  overrides: Values,
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

/** The values at a point of a thread. The values never change. */
export const valuesQuery = (threadId: string, { kind, number }: ForkPoint) =>
  queryOptions({
    queryKey: ["runs", threadId, kind, number],
    queryFn: async ({ signal }): Promise<RunValues> => {
      if (kind === "rerun") return readValues(threadId, number, signal);
      const { params, variables, localVars } = await readCheckpoint(
        threadId,
        { steps: number },
        signal,
      );
      return { steps: number, stepID: null, path: [], within: null, params, variables, localVars };
    },
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });

/** The point of a row at which a new thread may start; null for none. A moved thread can't repeat a step. */
export function pointOf(
  row: TraceRow | null,
  kind: ForkPoint["kind"],
  { movedTo }: Thread,
): ForkPoint | null {
  if (kind === "rerun" && movedTo !== undefined) return null;
  const failedAt = kind === "rerun" ? row?.failedAt : null;
  const number = row?.number ?? row?.card?.step?.number ?? failedAt ?? null;
  return number === null ? null : { kind, number };
}
