import type { Descriptor } from "@uncaged/workflow";
import type { StepDocument, WorkflowDocument } from "../document/document.ts";
import { getStepType } from "../document/step-type.ts";

/** The rounds of a step workflow's threads when their starter does not say. */
const maxRounds = 100_000;

/** The longest documents that a descriptor holds, in characters; it may have 1 Mi with all else. */
const longest = 512 * 1024;

/**
 * What the descriptor of a step workflow's bundle has beside that of any other: it marks the bundle as
 * one, and has the documents as JSON texts, so that programs can fold its threads and draw it without
 * running it. `document` is null, and `subflows` empty, where they are longer than 512 Ki characters.
 */
export type StepsMark = {
  version: string;
  name: string;
  document: string | null;
  subflows: Record<string, string>;
};

export type StepsDescriptor = Descriptor & { stepWorkflow: StepsMark };

/** The documents of a step workflow's bundle. */
export type Documents = {
  document: WorkflowDocument;
  /** Those that are built in, by the path that a step names. */
  subflows: Readonly<Record<string, WorkflowDocument>>;
};

/** The descriptor of a step workflow's bundle: a role for each step, and the mark. */
export function describeSteps({ document, subflows }: Documents): StepsDescriptor {
  const { name, version, description, steps } = document;
  return {
    description: typeof description === "string" ? description : name,
    maxRounds,
    stepWorkflow: { name, version, ...textsOf({ document, subflows }) },
    roles: Object.fromEntries(
      steps.map((step) => [step.id, { description: titleOf(step), schema: true }]),
    ),
  };
}

function textsOf({ document, subflows }: Documents): Pick<StepsMark, "document" | "subflows"> {
  const texts = {
    document: JSON.stringify(document),
    subflows: Object.fromEntries(
      Object.entries(subflows).map(([path, child]) => [path, JSON.stringify(child)]),
    ),
  };
  const all = [texts.document, ...Object.values(texts.subflows)];
  const length = all.reduce((sum, text) => sum + text.length, 0);
  return length <= longest ? texts : { document: null, subflows: {} };
}

const titleOf = (step: StepDocument): string =>
  typeof step.meta?.title === "string" && step.meta.title !== ""
    ? step.meta.title
    : (getStepType(step) ?? step.type ?? step.id);

/**
 * The documents that a descriptor holds; null when it is not that of a step workflow, and without
 * `document` when it is too long to stand there.
 */
export function documentsIn(
  descriptor: object,
): (Partial<Pick<Documents, "document">> & Pick<Documents, "subflows">) | null {
  const mark = "stepWorkflow" in descriptor ? (descriptor.stepWorkflow as StepsMark) : null;
  if (typeof mark?.version !== "string") return null;
  const parsed = Object.entries(mark.subflows).map(
    ([path, text]) => [path, JSON.parse(text) as WorkflowDocument] as const,
  );
  const subflows = Object.fromEntries(parsed);
  if (mark.document === null) return { subflows };
  return { document: JSON.parse(mark.document) as WorkflowDocument, subflows };
}
