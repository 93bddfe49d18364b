import { posix } from "node:path";
import { locatedProblems, type Position, readDocument } from "@uncaged/workflow/document";
import { validate } from "../check/check.ts";
import type { CheckOptions, Violation } from "../check/subject.ts";
import type { StepDocument, WorkflowDocument } from "../document/format.ts";
import { isPlain } from "../expression/value.ts";
import { literalPath, runsWorkflow, withPath } from "../document/outline.ts";
import { childCycle, childrenTooDeep, invalidSteps, notSteps } from "./errors.ts";

/** The position of each step in the text, by the step's id. */
export type StepPositions = Record<string, Position>;

/** A valid document with its warnings, each as `file:line:column: …`. */
export type CheckedDocument = {
  document: WorkflowDocument;
  warnings: string[];
  positions: StepPositions;
};

/**
 * Reads and checks a step workflow. Throws `STEPS_INVALID` with the file's first error as `file:line:column: message`;
 * `details` lists all errors if there are several.
 */
export function checkedDocument(
  text: string,
  file: string,
  options: CheckOptions = {},
): CheckedDocument {
  const { document, positionOf } = readDocument(text, file, "STEPS_INVALID");
  const messagesOf = (found: readonly Violation[]) => locatedProblems(found, file, positionOf);
  const { version, steps } = isPlain(document) ? document : {};
  if (version === undefined && steps === undefined) throw notSteps(file);
  const violations = validate(document, options);
  const errors = messagesOf(violations.filter(({ severity }) => severity === "error"));
  if (errors.length === 0) {
    const valid = document as WorkflowDocument;
    const entries = valid.steps.map(({ id }, n) => [id, positionOf(["steps", n, "id"])] as const);
    const positions = Object.fromEntries(entries);
    return { document: valid, warnings: messagesOf(violations), positions };
  }
  const isOurs = typeof version === "string" && version.startsWith("3.") && Array.isArray(steps);
  throw invalidSteps(errors, isOurs);
}

const mostDepth = 8;

/** A document with its children, by their paths from its folder. The documents' steps refer to these paths. */
export type Gathered = {
  document: WorkflowDocument;
  subflows: ReadonlyMap<string, WorkflowDocument>;
};

/**
 * Gathers all documents that a document runs by literal paths, directly or indirectly. `read` reads a document by its
 * path from the first document's folder.
 */
export async function gather(
  document: WorkflowDocument,
  file: string,
  read: (path: string, step: string, by: string, literal: string) => Promise<WorkflowDocument>,
): Promise<Gathered> {
  /** Documents with rewritten paths. `depth` counts the levels of workflows below a document. */
  const linked = new Map<string, { document: WorkflowDocument; depth: number }>();

  /** Rewrites the paths of a document and its children. `chain`: paths from the first document to this document. */
  async function link(one: WorkflowDocument, chain: string[]) {
    const steps: StepDocument[] = [];
    const by = chain.at(-1) ?? "";
    let depth = 0;
    for (const step of one.steps) {
      const literal = runsWorkflow(step) ? literalPath(step) : null;
      if (literal === null) {
        steps.push(step);
        continue;
      }
      // Relative to the referring document; with a leading slash, relative to the first document's folder.
      const home = literal.startsWith("/") ? "." : posix.dirname(by);
      const path = posix.join(home, literal);
      const way = [...chain, path];
      if (chain.includes(path)) throw childCycle(way);
      if (chain.length > mostDepth) throw childrenTooDeep(way, mostDepth);
      const child = linked.get(path) ?? (await link(await read(path, step.id, by, literal), way));
      if (chain.length + child.depth > mostDepth) throw childrenTooDeep(way, mostDepth);
      linked.set(path, child);
      depth = Math.max(depth, child.depth + 1);
      steps.push(withPath(step, path));
    }
    return { document: { ...one, steps }, depth };
  }

  const first = await link(document, [posix.basename(file.replaceAll("\\", "/"))]);
  const subflows = [...linked].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    document: first.document,
    subflows: new Map(subflows.map(([path, child]) => [path, child.document])),
  };
}
