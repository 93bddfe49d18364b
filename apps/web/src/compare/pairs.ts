import type { ThreadDiff } from "@uncaged/workflow-server/api-types";

/** The steps of two threads with the same number. */
export type Pair = ThreadDiff["steps"][number];

/** A run of steps that are the same in both, or one pair that is not. */
export type Row = { kind: "same"; pairs: Pair[] } | { kind: "different"; pair: Pair };

/** The rows of a comparison: what is the same stands together. */
export function rowsOf(pairs: readonly Pair[]): Row[] {
  const rows: Row[] = [];
  for (const pair of pairs) {
    const last = rows.at(-1);
    if (!pair.same) rows.push({ kind: "different", pair });
    else if (last?.kind === "same") last.pairs.push(pair);
    else rows.push({ kind: "same", pairs: [pair] });
  }
  return rows;
}

/** What a comparison comes to, in a sentence. */
export function verdictOf({ same, prompt, steps }: ThreadDiff): string {
  if (same) return "The two are the same, step by step.";
  const differing = steps.filter((pair) => !pair.same).length;
  const first = steps.find((pair) => !pair.same)?.number;
  const prompts = prompt.same ? "" : "Their prompts differ. ";
  if (first === undefined) return `${prompts}Their steps are the same.`;
  const until =
    first === 1
      ? "They differ from the first step on"
      : `They are the same up to step ${first - 1}`;
  const count = differing === 1 ? "1 step differs" : `${differing} steps differ`;
  return `${prompts}${until}; ${count}.`;
}
