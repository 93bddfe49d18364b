import type {
  StepDocument,
  WorkflowDocument,
} from "../../packages/workflow-steps/src/document/format.ts";

const registry = {
  params: ["items(ARRAY) = []"],
  vars: ["$sum(INT) = 0", "$list(ARRAY)", "$object(OBJECT)"],
};

const document = (name: string, steps: StepDocument[]): WorkflowDocument => ({
  version: "3.18",
  name,
  registry,
  steps,
});

/** A loop over the param `items` with one step in it. */
export const loopOf = (step: StepDocument, mode: "serial" | "parallel" = "serial") =>
  document("loop", [
    { id: "Loop_All", source: "=items", mode, children: [step.id], next: "RETURN" },
    { next: "RETURN", ...step },
  ]);

/** A loop of so many rounds, which goes over nothing that the state would hold. */
export const roundsOf = (step: StepDocument, maxIterations: number) =>
  document("rounds", [
    { id: "Loop_All", while: "true", maxIterations, children: [step.id], next: "RETURN" },
    { next: "RETURN", ...step },
  ]);

/** A step that counts. */
export const counting: StepDocument = { id: "Set_Sum", target: "$sum", value: "=$sum + 1" };

/** The least work that a step can do: it adds its item to a sum. */
export const adding: StepDocument = { id: "Set_Sum", target: "$sum", value: "=$sum + _item" };

/** A fork with so many children, each a step that writes to a place of its own. */
export function forkOf(count: number): WorkflowDocument {
  const children = Array.from({ length: count }, (_, n): StepDocument => {
    return { id: `Set_${n}`, target: `$list[${n}]`, value: n, next: "RETURN" };
  });
  const ids = children.map(({ id }) => id);
  return document("fork", [{ id: "Fork_All", children: ids, next: "RETURN" }, ...children]);
}

/** The numbers from 0. */
export const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

const counted: StepDocument = { ...counting, next: "Stop_End" };
const stop: StepDocument = { id: "Stop_End" };

/** Two steps and no adapter. */
export const small = document("small", [counted, stop]);

/** A document whose bundle has the clients of models in it, and which asks none. */
export const asked = document("asked", [
  { ...counting, next: "LLM_Ask" },
  { id: "LLM_Ask", if: "$sum > 1", in: { prompt: "Hello" }, out: "$object", next: "Stop_End" },
  stop,
]);
