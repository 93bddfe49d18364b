import type { LucideIcon } from "lucide-react";
import type { NodeState } from "../ui/states.tsx";

/*
 * The interface between the editor and a kind of document. The editor handles the text; a feature implements
 * `DocumentKind` with pure functions of the parsed document.
 */

/** Names and indexes from the root of a document to a value. */
export type DocumentPath = readonly (string | number)[];

export type Point = { readonly x: number; readonly y: number };

export type JsonSchema = Readonly<Record<string, unknown>>;

/** One change of a document. Paths refer to the document before the edit: removing items 1 and 3 names 1 and 3. */
export type Change = {
  path: DocumentPath;
  /** The new value; undefined removes it. Missing objects on the path are created. */
  value: unknown;
  /** Inserts into a list before the item at the path. The list's length as the index appends. */
  insert?: true;
};

/** The effect of one action: one step of the history. */
export type Edit = {
  /** Label in the history, for example "Move 3 nodes". */
  label: string;
  changes: readonly Change[];
  /** Ids to select afterwards; by default the selection stays. */
  select?: readonly string[];
  /** Consecutive edits with the same key form one step of the history, such as typing into a field. */
  merge?: string;
};

/** A refused edit with the reason to show. */
export type Refused = { refused: string };

export type Side = "top" | "right" | "bottom" | "left";

/** A point of a node where lines start or end. */
export type Port = {
  id: string;
  role: "in" | "out";
  side: Side;
  label: string | null;
  /** Whether the user can draw lines from or to the port. */
  isOpen: boolean;
  hint?: string;
};

export type DrawnNode = {
  id: string;
  /** A type of the palette, which defines the node's icon. */
  type: string;
  title: string;
  /** Text of its body: a few short lines. */
  lines: readonly string[];
  /** Upper left corner, relative to its container; null if the layout places it. */
  at: Point | null;
  /** Id of its container. */
  parent: string | null;
  isContainer: boolean;
  /** Whether the user can neither delete nor copy the node. */
  isFixed: boolean;
  ports: readonly Port[];
  /** Path in the document. The node shows all problems below the path. */
  path: DocumentPath;
};

export type DrawnEdge = {
  id: string;
  source: string;
  sourcePort: string;
  target: string;
  targetPort: string;
  label: string | null;
  look: "next" | "child" | "error" | "tool";
  path: DocumentPath;
};

/** A drawn document. A container comes before its content. */
export type Drawing = { nodes: readonly DrawnNode[]; edges: readonly DrawnEdge[] };

export type Problem = {
  path: DocumentPath;
  message: string;
  severity: "error" | "warning";
};

export type PaletteItem = {
  type: string;
  label: string;
  icon: LucideIcon;
  hint: string;
  /** The letter that adds a node of this type from the palette's dialog. */
  key: string;
  /** Whether the palette omits the type. Such nodes are drawn, but can't be added. */
  isHidden?: true;
};

export type NodePosition = { id: string; at: Point; parent: string | null };

export type PortAt = { node: string; port: string };

/** A completion in an expression. */
export type Completion = {
  /** The inserted text: "$plan", "goal". */
  text: string;
  /** Its meaning: "variable of plan", "param". */
  detail: string;
};

/** A value of a node in a run: its input, its output, or a value that its fields can refer to. */
export type RunValue = {
  node: string;
  part: "input" | "output" | "scope";
  /** The path from the name of the value: `$rows[0].name`. */
  path: string;
};

/** A text with the caret after an insertion. */
export type Inserted = { text: string; caret: number };

export type NodeForm = {
  /** Schema of the value. An object's properties are the fields. */
  schema: JsonSchema;
  /** Path of the value, which need not exist yet. */
  path: DocumentPath;
  value: unknown;
  /** Reasons why fields are read-only, by field name. */
  locked?: Readonly<Record<string, string>>;
  /** Dotted paths ("input", "data.value") of fields that are expressions or maps of expressions. */
  expressions?: readonly string[];
  /**
   * The edit for a field's new value; by default the value is set at its path. For edits that change more, such as
   * lines. `path` starts at the form's value.
   */
  edit?: (path: DocumentPath, value: unknown) => Edit | Refused;
};

/** Type of the notes on a canvas. */
export const noteType = "note";

/** A document to start from. */
export type Template = { label: string; hint: string; load: () => Promise<{ default: object }> };

/** A document made from another program's file. */
export type Converted = {
  text: string;
  /** The program that wrote the file. */
  from: string;
  /** Parts that the document does not have, with their places in the file. */
  left: readonly { at: string; message: string }[];
};

/** The state of a node in a run, from its newest attempt. */
export type LiveNode = {
  state: NodeState;
  tokens: number;
  /** US dollars. */
  cost: number;
  durationMs: number | null;
  /** Number of runs of the node, including the current run. */
  run: number;
};

/** An additional action on nodes: an item of their menu, with an optional key. */
export type KindAction = { label: string; icon: LucideIcon; key?: string; edit: Edit };

export type DocumentKind<Name extends string = "graph" | "steps"> = {
  name: Name;
  /** Noun for such a document: "graph". */
  noun: string;
  emptyText: string;
  templates?: readonly Template[];
  palette: readonly PaletteItem[];
  /** Reads a document. It never throws, and leaves out parts that can't be drawn. */
  read: (document: unknown) => Drawing;
  /** All problems of a document. Called some time after a change; a newer change aborts it. */
  check: (
    document: unknown,
    signal: AbortSignal,
  ) => readonly Problem[] | Promise<readonly Problem[]>;
  /** The name of a document's format, such as "a step workflow", for a refusal; null for this kind's own format. */
  recognize: (document: unknown) => string | null;
  /** Converts another program's file; null for any other text. Throws an error for a broken file. */
  convert?: (text: string, file: string) => Promise<Converted | null>;
  /** Adds a node. With `isChosen` the user has dropped it at the point; otherwise the layout may move it. */
  add: (
    document: unknown,
    type: string,
    at: Point,
    parent: string | null,
    isChosen?: boolean,
  ) => Edit | Refused;
  remove: (document: unknown, nodes: readonly string[], edges: readonly string[]) => Edit | Refused;
  /** Moves nodes. If missing, only the layout places nodes. */
  move?: (document: unknown, positions: readonly NodePosition[]) => Edit;
  /** Draws a line. `replacing` is the id of the line whose end was dragged. Returns null without a change. */
  connect: (
    document: unknown,
    from: PortAt,
    to: PortAt,
    replacing?: string,
  ) => Edit | Refused | null;
  /** A JSON fragment for the clipboard: the nodes with the lines between them. */
  copy: (document: unknown, nodes: readonly string[]) => unknown;
  /** Pastes a fragment; returns null for a fragment of another kind. */
  paste: (
    document: unknown,
    fragment: unknown,
    at: Point,
    parent: string | null,
  ) => Edit | Refused | null;
  form: (document: unknown, node: string) => NodeForm | null;
  /** Additional actions on nodes. A double click runs the first action, unless it opens something. */
  actions?: (document: unknown, nodes: readonly string[]) => readonly KindAction[];
  /** The names in scope in a field of a node's form. */
  complete?: (document: unknown, node: string, path: DocumentPath) => readonly Completion[];
  /** The expression of a run's value in a field of the node `field`; null if no expression refers to it. */
  expressionOf?: (document: unknown, value: RunValue, field: string) => string | null;
  /** Inserts an expression into the text of a field. By default at the caret. */
  insert?: (text: string, caret: number, expression: string, path: DocumentPath) => Inserted;
};
