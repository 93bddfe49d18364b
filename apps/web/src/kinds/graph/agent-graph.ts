import "../../lib/no-eval.ts";
import { checkGraph, foreignFormat } from "@uncaged/workflow-graph/document";
import { Bot, ChevronsDownUp, ChevronsUpDown, GitBranch, Play, UserRoundCheck } from "lucide-react";
import type { Converted, DocumentKind, PaletteItem, Problem } from "../../editor/kind.ts";
import { withNotes } from "../../editor/notes.ts";
import { isRecord } from "../../lib/json.ts";
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
import { type Choices, completionsAt, formOf } from "./form.ts";
import { readDocument } from "./graph-document.ts";
import { graphTemplates } from "./templates.ts";

export const emptyGraph = `${JSON.stringify(
  { nodes: [{ id: "node_1", type: "start", x: 80, y: 160, data: {} }], connections: [] },
  null,
  2,
)}\n`;

const palette: readonly PaletteItem[] = [
  { type: "agent", label: "Agent", icon: Bot, hint: "Asks a model", key: "a" },
  { type: "if", label: "Condition", icon: GitBranch, hint: "Chooses the next node", key: "c" },
  {
    type: "approval",
    label: "User Approval",
    icon: UserRoundCheck,
    hint: "Waits for a person",
    key: "u",
  },
  {
    type: "start",
    label: "Start",
    icon: Play,
    hint: "Starts a run",
    key: "s",
    isHidden: true,
  },
];

/** The kind of agent graph documents. `choices` may return more later. */
export const agentGraphKind = (choices: () => Choices): DocumentKind =>
  withNotes({
    name: "graph",
    noun: "graph",
    emptyText: emptyGraph,
    templates: graphTemplates,
    palette,
    read: drawingOf,
    check: (document) => problemsOf(document, choices()),
    recognize: otherFormatOf,
    convert,
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

async function convert(text: string, file: string): Promise<Converted | null> {
  const { importGraph, isImportable } = await import("@uncaged/workflow-graph/import");
  if (!isImportable(text) && !isScript(text, file)) return null;
  const { document, ...imported } = importGraph(text, file);
  return { ...imported, text: `${JSON.stringify(document, null, 2)}\n` };
}

/** Whether a text is code, so that the import explains why it can't be read. */
const isScript = (text: string, file: string): boolean =>
  /\.(m?ts|py)$/.test(file) || /^\s*(import|from|const|export)\s/.test(text);

function problemsOf(document: unknown, { tools }: Choices): Problem[] {
  const { errors, warnings } = checkGraph(document, { tools });
  return [
    ...errors.map((error): Problem => ({ ...error, severity: "error" })),
    ...warnings.map((warning): Problem => ({ ...warning, severity: "warning" })),
  ];
}

const folding: NonNullable<DocumentKind["actions"]> = (document, ids) => {
  const { nodes } = readDocument(document);
  const chosen = ids.map((id) => nodes.get(id)).filter((node) => node !== undefined);
  if (chosen.length === 0) return [];
  const isFolded = chosen.every(isCollapsed);
  const edit = foldNodes(document, ids, !isFolded);
  return [
    isFolded
      ? { label: "Expand", icon: ChevronsUpDown, key: "e", edit }
      : { label: "Collapse", icon: ChevronsDownUp, key: "e", edit },
  ];
};

/** The name of a document's format, for a refusal; null for a graph. */
export function otherFormatOf(document: unknown): string | null {
  const known = foreignFormat(document);
  if (known !== null) return known;
  if (Array.isArray(document)) return "a list";
  if (!isRecord(document)) return document === null ? "null" : `a ${typeof document}`;
  const isGraph = Array.isArray(document.nodes) || Array.isArray(document.connections);
  return isGraph ? null : "an object without nodes and connections";
}
