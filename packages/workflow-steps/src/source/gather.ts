import { posix } from "node:path";
import { WorkflowError } from "@uncaged/workflow";
import type { StepDocument, WorkflowDocument } from "../document/document.ts";
import { literalPath, runsWorkflow, withPath } from "../outline/subflow.ts";

/** How deep workflows may run workflows. */
const mostDepth = 8;

/**
 * A document with those that it runs, by their paths from the first document's folder. Each step's
 * literal path is the one that its workflow stands under.
 */
export type Gathered = {
  document: WorkflowDocument;
  subflows: ReadonlyMap<string, WorkflowDocument>;
};

/** Reads a document by its path from the first document's folder. */
export type ReadSubflow = (path: string, step: string, by: string) => Promise<WorkflowDocument>;

/**
 * Gathers the documents that a document's steps name by a literal path, and those that these name.
 *
 * @throws WorkflowError `SUBFLOW_CYCLE`, `SUBFLOW_TOO_DEEP`, and those of `read`.
 */
export async function gather(
  document: WorkflowDocument,
  file: string,
  read: ReadSubflow,
): Promise<Gathered> {
  const gathering = new Gathering(read);
  const first = posix.basename(file.replaceAll("\\", "/"));
  const linked = await gathering.link(document, [first]);
  return { document: linked.document, subflows: gathering.documents() };
}

/** A document whose steps name the documents that they run; `depth` counts the workflows below it. */
type Linked = { document: WorkflowDocument; depth: number };

class Gathering {
  readonly #read: ReadSubflow;
  readonly #linked = new Map<string, Linked>();

  constructor(read: ReadSubflow) {
    this.#read = read;
  }

  documents(): Map<string, WorkflowDocument> {
    const pairs = [...this.#linked].map(([path, { document }]) => [path, document] as const);
    return new Map(pairs.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** `chain` has the paths from the first document to this one. */
  async link(document: WorkflowDocument, chain: string[]): Promise<Linked> {
    const steps: StepDocument[] = [];
    let depth = 0;
    for (const step of document.steps) {
      const literal = runsWorkflow(step) ? literalPath(step) : null;
      if (literal === null) {
        steps.push(step);
        continue;
      }
      const path = pathOf(literal, chain.at(-1) ?? "");
      const child = await this.#child(path, step.id, chain);
      depth = Math.max(depth, child.depth + 1);
      steps.push(withPath(step, path));
    }
    return { document: { ...document, steps }, depth };
  }

  async #child(path: string, step: string, before: string[]): Promise<Linked> {
    const chain = [...before, path];
    if (before.includes(path)) throw cycle(chain);
    if (before.length > mostDepth) throw tooDeep(chain);
    let child = this.#linked.get(path);
    if (!child) {
      child = await this.link(await this.#read(path, step, before.at(-1) ?? ""), chain);
      this.#linked.set(path, child);
    }
    if (before.length + child.depth > mostDepth) throw tooDeep(chain);
    return child;
  }
}

// Relative to the document that names it; with a slash before it to the first document's folder.
const pathOf = (literal: string, by: string): string =>
  literal.startsWith("/") ? posix.join(".", literal) : posix.join(posix.dirname(by), literal);

const cycle = (chain: string[]): WorkflowError =>
  refused("SUBFLOW_CYCLE", `${chain.join(" runs ")}: a workflow can't run itself`);

const tooDeep = (chain: string[]): WorkflowError =>
  refused("SUBFLOW_TOO_DEEP", `${chain.join(" runs ")}: ${mostDepth} workflows deep is the most`);

function refused(code: string, message: string): WorkflowError {
  const hint = "let the workflow that is run not run others in turn";
  return new WorkflowError({ code, kind: "failed", message, hint });
}
