import { posix } from "node:path";
import { validate } from "../check/check.ts";
import type { CheckOptions, Violation } from "../check/subject.ts";
import { failure, failures, SUPPORTED_VERSIONS } from "../document/document.ts";
import type { StepDocument, WorkflowDocument } from "../document/format.ts";
import { isPlain } from "../expression/value.ts";
import { literalPath, runsWorkflow, withPath } from "../outline/outline.ts";
import { readJson } from "./json.ts";
import { type Path, type Read, Unreadable } from "./text.ts";
import { readYaml } from "./yaml.ts";

/** A valid document, and what its author may have meant otherwise, each as `file:line:column: …`. */
export type CheckedDocument = { document: WorkflowDocument; warnings: string[] };

const needs = `a step workflow has "version" ("${SUPPORTED_VERSIONS[0]}" to "${SUPPORTED_VERSIONS.at(-1)}"), "name", "registry" and an array "steps"`;

/**
 * Reads and checks a step workflow. Throws `STEPS_INVALID` with the first error of the file as `file:line:column:
 * message`, and all of several in `details`.
 */
export function checkedDocument(
  text: string,
  file: string,
  options: CheckOptions = {},
): CheckedDocument {
  const { document, positionOf } = readDocument(text, file);
  const messagesOf = (found: readonly Violation[]) =>
    found
      .map(({ path, message }) => ({ ...positionOf(path), message }))
      .toSorted((one, other) => one.line - other.line || one.column - other.column)
      .map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`);
  const { version, steps } = isPlain(document) ? document : {};
  if (version === undefined && steps === undefined) {
    const message = `${file}:1:1: this is no step workflow: it has neither version nor steps`;
    throw failure("STEPS_INVALID", message, needs);
  }
  const violations = validate(document, options);
  const errors = messagesOf(violations.filter(({ severity }) => severity === "error"));
  if (errors.length === 0) {
    return { document: document as WorkflowDocument, warnings: messagesOf(violations) };
  }
  const isOurs = typeof version === "string" && version.startsWith("3.") && Array.isArray(steps);
  throw failures("STEPS_INVALID", errors, isOurs ? "fix the workflow and try again" : needs);
}

const mostDepth = 8;

/** A document with those that it runs, by their paths from its folder, which the steps then have too. */
export type Gathered = {
  document: WorkflowDocument;
  subflows: ReadonlyMap<string, WorkflowDocument>;
};

/**
 * Gathers the documents that a document's steps name by a literal path, and those that these name.
 * `read` reads one by its path from the first document's folder.
 */
export async function gather(
  document: WorkflowDocument,
  file: string,
  read: (path: string, step: string, by: string, literal: string) => Promise<WorkflowDocument>,
): Promise<Gathered> {
  /** Documents that name those that they run; `depth` counts the workflows below one. */
  const linked = new Map<string, { document: WorkflowDocument; depth: number }>();

  /** `chain` has the paths from the first document to this one. */
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
      // Relative to the document that names it; with a slash before it to the first document's folder.
      const home = literal.startsWith("/") ? "." : posix.dirname(by);
      const path = posix.join(home, literal);
      const way = [...chain, path];
      if (chain.includes(path)) throw cycle(way);
      if (chain.length > mostDepth) throw tooDeep(way);
      const child = linked.get(path) ?? (await link(await read(path, step.id, by, literal), way));
      if (chain.length + child.depth > mostDepth) throw tooDeep(way);
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

const hint = "let the workflow that is run not run others in turn";

const cycle = (way: string[]) =>
  failure("SUBFLOW_CYCLE", `${way.join(" runs ")}: a workflow can't run itself`, hint);

const tooDeep = (way: string[]) =>
  failure(
    "SUBFLOW_TOO_DEEP",
    `${way.join(" runs ")}: ${mostDepth} workflows deep is the most`,
    hint,
  );

/** The most characters of a text. The YAML library needs seconds for more than it may have. */
const longest = { JSON: 10 * 1024 * 1024, YAML: 2 * 1024 * 1024 };

/** A place in a text, counted from 1; a column is one UTF-16 unit, as editors count. */
type Position = { line: number; column: number };

/**
 * The document that a text holds, and where in the text its parts stand. `file` is named in messages,
 * and is YAML when its name ends in `.yaml` or `.yml`, else JSON. What is in the document is not checked.
 * `positionOf` gives, for a path that the document does not have, the position of what it would be in.
 */
export function readDocument(
  text: string,
  file: string,
): { document: unknown; positionOf: (path: Path) => Position } {
  const kind = /\.ya?ml$/i.test(file) ? "YAML" : "JSON";
  const positionAt = positionsIn(text);
  try {
    const { value, offsetOf } = parsed(text, kind);
    return { document: value, positionOf: (path) => positionAt(offsetOf(path)) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const { line, column } = positionAt(error.offset);
    const first = error.first === undefined ? null : positionAt(error.first);
    const earlier = first ? `, first in line ${first.line}, column ${first.column}` : "";
    throw failure(
      "STEPS_INVALID",
      `${file}:${line}:${column}: ${error.message}${earlier}`,
      `fix the file: it must be one ${kind} document`,
    );
  }
}

function parsed(text: string, kind: keyof typeof longest): Read {
  if (text.length > longest[kind]) {
    const limit = `${longest[kind] / 1024 / 1024} Mi characters`;
    throw new Unreadable(0, `the file is too large: ${kind} may have at most ${limit}`);
  }
  // The mark of UTF-8, and a space in its place so that the offsets stay.
  const plain = text.startsWith("\uFEFF") ? ` ${text.slice(1)}` : text;
  if (plain.trim() === "") throw new Unreadable(0, "the file is empty");
  return kind === "YAML" ? readYaml(plain) : readJson(plain);
}

/** Finds the positions of offsets. The lines are counted once, and only when one is asked for. */
function positionsIn(text: string): (offset: number) => Position {
  let starts: number[] | null = null;
  return (offset) => {
    starts ??= [0, ...Array.from(text.matchAll(/\r\n?|\n/g), (end) => end.index + end[0].length)];
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
