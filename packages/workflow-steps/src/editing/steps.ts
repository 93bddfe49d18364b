import { type DocumentPath, isRecord, listOf } from "@uncaged/workflow/editing";
import { getStepType, prefixOf } from "../document/document.ts";
import { literalPath, type Outline, outlineOf, runsWorkflow } from "../document/outline.ts";

/** A step of a document. Its id is unique; other fields are unchecked. */
export type StepRecord = Readonly<Record<string, unknown>> & { readonly id: string };

/** The valid steps of a document, parsed. */
export type Steps = {
  all: ReadonlyMap<string, { step: StepRecord; index: number; path: DocumentPath }>;
  /** The length of `steps` including invalid items; null if `steps` is not a list. */
  count: number | null;
  outline: Outline;
  /** The construct around each step; null at the top level. */
  containers: ReadonlyMap<string, string | null>;
  registry: Readonly<Record<string, unknown>>;
};

const readOnce = new WeakMap<object, Steps>();

/** Parses a document. Results are cached by document. */
export function stepsOf(document: unknown): Steps {
  if (!isRecord(document)) return read({});
  const before = readOnce.get(document);
  if (before) return before;
  const steps = read(document);
  readOnce.set(document, steps);
  return steps;
}

function read(document: Readonly<Record<string, unknown>>): Steps {
  const list = Array.isArray(document.steps) ? document.steps : null;
  const all = new Map<string, { step: StepRecord; index: number; path: DocumentPath }>();
  for (const [index, step] of (list ?? []).entries()) {
    if (!isRecord(step) || typeof step.id !== "string" || all.has(step.id)) continue;
    all.set(step.id, { step: step as StepRecord, index, path: ["steps", index] });
  }
  const outline = outlineOf(document);
  return {
    all,
    count: list?.length ?? null,
    outline,
    containers: outline.containers(),
    registry: isRecord(document.registry) ? document.registry : {},
  };
}

/** Returns the palette's type of a step; null for an unknown type. */
export function typeOf(step: StepRecord): string | null {
  const { id, type, children } = step;
  const known = getStepType({ id, ...(typeof type === "string" && { type }) });
  if (known !== "Noop") return known;
  const name = typeof type === "string" ? type : prefixOf(id);
  return name === "Fork" || listOf(children).length > 0 ? "Fork" : "Noop";
}

/** Returns whether a step encloses other steps in a drawing. */
export const isContainer = (step: StepRecord): boolean =>
  ["Loop", "Branch", "Fork"].includes(typeOf(step) ?? "") || listOf(step.children).length > 0;

/** Returns the given steps and all steps inside them. */
export function withContents({ containers }: Steps, ids: readonly string[]): Set<string> {
  const found = new Set(ids);
  const isIn = (id: string): boolean => {
    const around = containers.get(id) ?? null;
    return around !== null && (found.has(around) || isIn(around));
  };
  for (const id of containers.keys()) if (isIn(id)) found.add(id);
  return found;
}

/** Returns whether a step is in a construct, at any depth. */
export function liesIn({ containers }: Steps, id: string, construct: string): boolean {
  let around = containers.get(id) ?? null;
  while (around !== null && around !== construct) around = containers.get(around) ?? null;
  return around === construct;
}

/** Returns the path of the workflow that a step runs; null if the step runs no workflow or computes the path. */
export function childPathOf(document: unknown, id: string): string | null {
  const step = stepsOf(document).all.get(id)?.step;
  return step && runsWorkflow(step) ? literalPath(step) : null;
}
