import type { Descriptor } from "@uncaged/workflow";
import { getStepType } from "../document/document.ts";
import type { StepDocument, WorkflowDocument } from "../document/format.ts";
import { inputSchema } from "../document/registry.ts";
import type { Documents } from "../state/state.ts";

const maxRounds = 100_000;

// The maximum length of the documents in characters of JSON. A whole descriptor is limited to 1 Mi characters.
const longestDocuments = 512 * 1024;
const longestRoles = 384 * 1024;
const longestInput = 64 * 1024;
const longestText = 2000;

/**
 * The part of a descriptor that marks a step workflow. It contains the documents as JSON texts, so that programs can
 * fold and draw threads without running the workflow. Omits documents that exceed a descriptor's limit.
 */
type StepsMark = {
  version: string;
  name: string;
  document: string | null;
  subflows: Record<string, string>;
};

export type StepsDescriptor = Descriptor & { stepWorkflow: StepsMark };

/** Returns the descriptor of a step workflow's bundle: a role for each step, and the mark. */
export function describeSteps({ document, subflows }: Documents): StepsDescriptor {
  const { version, description, steps } = document;
  const name = document.name.slice(0, longestText);
  const roles = Object.fromEntries(
    steps.map((step) => [step.id, { description: titleOf(step), schema: true }]),
  );
  const parts = Object.entries(subflows).map(([path, child]) => [path, JSON.stringify(child)]);
  const children = Object.fromEntries(parts) as Record<string, string>;
  const texts = { document: JSON.stringify(document), subflows: children };
  const input = inputSchema(document.registry.params ?? []);
  return {
    description: typeof description === "string" ? description.slice(0, longestText) : name,
    maxRounds,
    ...(fits(input, longestInput) && { input }),
    stepWorkflow: {
      name,
      version,
      ...(fits(texts, longestDocuments) ? texts : { document: null, subflows: {} }),
    },
    ...(fits(roles, longestRoles) ? { roles } : { roles: {}, strict: false }),
  };
}

const fits = (value: unknown, most: number): boolean => JSON.stringify(value).length <= most;

const titleOf = (step: StepDocument): string =>
  typeof step.meta?.title === "string" && step.meta.title !== ""
    ? step.meta.title.slice(0, longestText)
    : (getStepType(step) ?? step.type ?? step.id);

/** Returns the documents in a descriptor, without `document` if it was too long; null for other bundles. */
export function documentsIn(
  descriptor: object,
): (Partial<Pick<Documents, "document">> & Pick<Documents, "subflows">) | null {
  const mark = "stepWorkflow" in descriptor ? (descriptor.stepWorkflow as StepsMark) : null;
  if (typeof mark?.version !== "string") return null;
  const read = (text: string): WorkflowDocument => JSON.parse(text) as WorkflowDocument;
  const children = Object.entries(mark.subflows).map(([path, text]) => [path, read(text)] as const);
  const subflows = Object.fromEntries(children);
  return mark.document === null ? { subflows } : { document: read(mark.document), subflows };
}
