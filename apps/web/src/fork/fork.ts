import type { ForkThread, NumberedStep } from "@uncaged/workflow-server/api-types";
import { isRecord, readObject } from "../schema/json.ts";
import { changesIn, variablesAfter } from "./variables.ts";

/** Where a new thread begins: after a step that is kept, or at a step that is done again. */
export type ForkPoint = { kind: "fork" | "rerun"; number: number };

/** How many steps are kept. */
export const keptBy = ({ kind, number }: ForkPoint): number =>
  kind === "fork" ? number : number - 1;

/** What can be changed of what goes on from there, as texts. */
export type ForkDraft = {
  prompt: string;
  /** The last kept step's. */
  content: string;
  meta: string;
  /** Those of a step workflow; null when it is none, or has none there. */
  variables: string | null;
  /** Another version; empty for the thread's own. */
  on: string;
  maxRounds: string;
};

const laidOut = (value: unknown): string => JSON.stringify(value, null, 2);

/**
 * What stands at a point: the values that the thread goes on from. `declared` are the variables of a
 * step workflow; null when it is none.
 */
export function draftAt(
  point: ForkPoint,
  steps: readonly NumberedStep[],
  prompt: string,
  declared: Readonly<Record<string, unknown>> | null,
): ForkDraft {
  const kept = steps.slice(0, keptBy(point));
  const last = kept.at(-1);
  return {
    prompt,
    content: last?.content ?? "",
    meta: laidOut(last?.meta ?? {}),
    variables: declared && point.kind === "rerun" ? laidOut(variablesAfter(kept, declared)) : null,
    on: "",
    maxRounds: "",
  };
}

/** What is wrong with a draft, by its parts. */
export function problemsIn(draft: ForkDraft): Partial<Record<keyof ForkDraft, string>> {
  const meta = readObject(draft.meta).problem;
  const variables = draft.variables === null ? null : readObject(draft.variables).problem;
  const rounds = Number(draft.maxRounds);
  return {
    ...(meta !== null && { meta }),
    ...(variables !== null && { variables }),
    ...(draft.maxRounds.trim() !== "" &&
      !(Number.isInteger(rounds) && rounds > 0) && {
        maxRounds: "This must be a whole number from 1 on.",
      }),
  };
}

/** The request for a new thread: the steps to keep, and what was changed, no more. */
export function forkOf(
  point: ForkPoint,
  before: ForkDraft,
  after: ForkDraft,
  steps: readonly NumberedStep[],
): ForkThread {
  const edit = {
    ...(after.content !== before.content && { content: after.content }),
    ...(after.meta !== before.meta && { meta: objectOf(after.meta) }),
  };
  const overrides = changesIn(
    objectOf(before.variables ?? "{}"),
    objectOf(after.variables ?? "{}"),
  );
  const stepID = steps[point.number - 1]?.role;
  return {
    keep: { atStep: keptBy(point) },
    ...(after.prompt !== before.prompt && { prompt: after.prompt }),
    ...(Object.keys(edit).length > 0 && { edit }),
    ...(after.on !== "" && { on: after.on }),
    ...(after.maxRounds.trim() !== "" && { maxRounds: Number(after.maxRounds) }),
    ...(Object.keys(overrides).length > 0 && {
      input: { content: `rerun of ${stepID}`, meta: { for: "rerun", stepID, overrides } },
    }),
  };
}

function objectOf(text: string): Record<string, unknown> {
  const { value } = readObject(text);
  return isRecord(value) ? value : {};
}
