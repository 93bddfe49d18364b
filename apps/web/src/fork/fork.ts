import type { ForkThread, NumberedStep } from "@uncaged/workflow-server/api-types";
import { isRecord, laidOut, readObject } from "../schema/json.ts";
import { type Limits, limitsOf, problemsInLimits } from "./limits.ts";

/**
 * Where a new thread begins: after a step that is kept, or at a step that is done again. What failed has
 * the number behind the last step.
 */
export type ForkPoint = { kind: "fork" | "rerun"; number: number };

/** How many steps of a thread of roles are kept. */
export const keptBy = ({ kind, number }: ForkPoint): number =>
  kind === "fork" ? number : number - 1;

/** What can be changed of what goes on from there, as texts. */
export type ForkDraft = Limits & {
  prompt: string;
  /** The last kept step's. */
  content: string;
  meta: string;
};

/** What stands at a point: the values that the thread goes on from. */
export function draftAt(
  point: ForkPoint,
  steps: readonly NumberedStep[],
  prompt: string,
): ForkDraft {
  const last = steps[keptBy(point) - 1];
  return {
    prompt,
    content: last?.content ?? "",
    meta: laidOut(last?.meta ?? {}) ?? "{}",
    on: "",
    maxRounds: "",
  };
}

/** What is wrong with a draft, by its parts. */
export function problemsIn(draft: ForkDraft): Partial<Record<keyof ForkDraft, string>> {
  const meta = readObject(draft.meta).problem;
  return { ...(meta !== null && { meta }), ...problemsInLimits(draft) };
}

/** The request for a new thread: the steps to keep, and what was changed, no more. */
export function forkOf(point: ForkPoint, before: ForkDraft, after: ForkDraft): ForkThread {
  const edit = {
    ...(after.content !== before.content && { content: after.content }),
    ...(after.meta !== before.meta && { meta: objectOf(after.meta) }),
  };
  return {
    keep: { atStep: keptBy(point) },
    ...(after.prompt !== before.prompt && { prompt: after.prompt }),
    ...(Object.keys(edit).length > 0 && { edit }),
    ...limitsOf(after),
  };
}

function objectOf(text: string): Record<string, unknown> {
  const { value } = readObject(text);
  return isRecord(value) ? value : {};
}
