import type { StepDocument, WorkflowDocument } from "../document/document.ts";

/**
 * A document's text for a bundle: the same for every spacing and order of keys that mean nothing. The
 * order of the keys of `in`, `out` and other values is kept, for it is seen when the workflow runs.
 * `$schema` is for editors and is left out.
 */
export function canonicalText(document: WorkflowDocument): string {
  const { $schema: _, registry, steps, ...rest } = document;
  return JSON.stringify(
    sorted({ ...rest, registry: sorted(registry), steps: steps.map((step) => sorted(step)) }),
  );
}

const sorted = (record: StepDocument | Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)),
  );
