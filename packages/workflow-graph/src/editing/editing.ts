import { type DocumentEditing, isRecord, type Problem, withNotes } from "@uncaged/workflow/editing";
import { checkGraph } from "../check/check.ts";
import { foreignFormat } from "../check/formats.ts";
import { drawingOf, isCollapsed } from "./drawing.ts";
import {
  addNode,
  connectPorts,
  copyNodes,
  foldNodes,
  moveNodes,
  pasteNodes,
  removeParts,
} from "./edits.ts";
import { expressionOf } from "./expression.ts";
import { type GraphChoices, completionsAt, formOf } from "./form.ts";
import { readDocument } from "./graph-document.ts";

const emptyText = `${JSON.stringify(
  { nodes: [{ id: "node_1", type: "start", x: 80, y: 160, data: {} }], connections: [] },
  null,
  2,
)}\n`;

/** Returns the editing functions for agent graphs. Forms and checks call `choices` each time. */
export const graphEditing = (choices: () => GraphChoices): DocumentEditing =>
  withNotes({
    noun: "graph",
    emptyText,
    read: drawingOf,
    check: (document) => problemsOf(document, choices()),
    recognize: otherFormatOf,
    add: addNode,
    remove: removeParts,
    move: moveNodes,
    connect: connectPorts,
    copy: copyNodes,
    paste: pasteNodes,
    form: (document, node) => formOf(document, node, choices()),
    actions: folding,
    complete: completionsAt,
    expressionOf,
  });

function problemsOf(document: unknown, { tools }: GraphChoices): Problem[] {
  const { errors, warnings } = checkGraph(document, { tools });
  return [
    ...errors.map((error): Problem => ({ ...error, severity: "error" })),
    ...warnings.map((warning): Problem => ({ ...warning, severity: "warning" })),
  ];
}

const folding: NonNullable<DocumentEditing["actions"]> = (document, ids) => {
  const { nodes } = readDocument(document);
  const chosen = ids.map((id) => nodes.get(id)).filter((node) => node !== undefined);
  if (chosen.length === 0) return [];
  const isFolded = chosen.every(isCollapsed);
  const edit = foldNodes(document, ids, !isFolded);
  return [{ label: edit.label, key: "e", edit }];
};

/** Returns the name of a foreign document's format; null for a graph. */
function otherFormatOf(document: unknown): string | null {
  const known = foreignFormat(document);
  if (known !== null) return known;
  if (Array.isArray(document)) return "a list";
  if (!isRecord(document)) return document === null ? "null" : `a ${typeof document}`;
  const isGraph = Array.isArray(document.nodes) || Array.isArray(document.connections);
  return isGraph ? null : "an object without nodes and connections";
}
