import { queryOptions } from "@tanstack/react-query";
import type {
  ForkThread,
  NumberedStep,
  Rerun,
  RunValues,
} from "@uncaged/workflow-server/api-types";
import { formatJson, ownIn, readJson, readObject } from "../../lib/json.ts";
import { type ForkPoint, problemOfRounds, readCheckpoint, readValues } from "../../lib/threads.ts";

export const keptBy = ({ kind, number }: ForkPoint): number =>
  kind === "fork" ? number : number - 1;

/** What can be changed of what goes on from there, as texts. */
export type ForkDraft = Limits & {
  prompt: string;
  /** The last kept step's. */
  content: string;
  meta: string;
};

/** The values at a point, from which the thread goes on. */
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

/** The request for a new thread: the steps to keep, and what was changed, no more. */
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

/** With which version and rounds a new thread goes on, as texts; empty where they stay as they were. */
export type Limits = { on: string; maxRounds: string };

export const limitsOf = ({ on, maxRounds }: Limits): { on?: string; maxRounds?: number } => ({
  ...(on !== "" && { on }),
  ...(maxRounds.trim() !== "" && { maxRounds: Number(maxRounds) }),
});

/** The values at a point. They never change, for the steps before it don't. */
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
  const { params, variables, localVars } = await readCheckpoint(threadId, steps, signal);
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

/** A value as it is edited: as a text, or as JSON. */
export type Edit = { text: string; isText: boolean };

export type Edits = Readonly<Record<string, Edit>>;

type Values = Readonly<Record<string, unknown>>;

/** Above this many characters of JSON a value is shown only when it is asked for. */
export const mostShown = 10_240;

/** A value to begin an edit with: a text as it is, all else as JSON. */
export const editOf = (value: unknown): Edit =>
  typeof value === "string"
    ? { text: value, isText: true }
    : { text: formatJson(value) ?? "", isText: false };

export function switched({ text, isText }: Edit): Edit {
  if (isText) return { text: JSON.stringify(text), isText: false };
  const { value } = readJson(text);
  return { text: typeof value === "string" ? value : text, isText: true };
}

/** Why an edit is no value; null when it is one. */
export const problemOf = ({ isText, text }: Edit): string | null =>
  isText ? null : readJson(text).problem;

export const valueOf = ({ isText, text }: Edit): unknown => (isText ? text : readJson(text).value);

/** Whether an edit makes another value, or none. */
export const isChanged = (before: unknown, edit: Edit): boolean =>
  problemOf(edit) !== null || JSON.stringify(valueOf(edit)) !== JSON.stringify(before);

/** The edited values that are other ones: only these are sent. */
export function overridesOf(before: Values, edits: Edits): Record<string, unknown> {
  const changed = Object.entries(edits).filter(([name, edit]) =>
    isChanged(ownIn(before, name), edit),
  );
  return Object.fromEntries(changed.map(([name, edit]) => [name, valueOf(edit)]));
}
