import type { DocumentPath } from "../document/text.ts";

/** A point of a drawing, in its coordinates. */
export type Point = { readonly x: number; readonly y: number };

/** A JSON Schema, unchecked. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One change of a document. Paths refer to the document before the edit: removing items 1 and 3 names 1 and 3. */
export type Change = {
  path: DocumentPath;
  /** The new value; undefined removes the value. Missing objects on the path are created. */
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

/** A side of a node. */
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

/** A node of a drawing. */
export type DrawnNode = {
  id: string;
  /** A type of the palette, which defines the node's icon. */
  type: string;
  title: string;
  /** The few short lines of text in the node's body. */
  lines: readonly string[];
  /** Upper left corner, relative to the container; null if the layout places the node. */
  at: Point | null;
  /** Id of the node's container; null at the top. */
  parent: string | null;
  isContainer: boolean;
  /** Whether the user can neither delete nor copy the node. */
  isFixed: boolean;
  ports: readonly Port[];
  /** Path in the document. The node shows all problems below the path. */
  path: DocumentPath;
};

/** A line of a drawing between two ports. */
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

/** A problem of a document at a path. */
export type Problem = {
  path: DocumentPath;
  message: string;
  severity: "error" | "warning";
};

/** The new place of a moved node, and its new container. */
export type NodePosition = { id: string; at: Point; parent: string | null };

/** A reference to a port of a node, by their ids. */
export type PortAt = { node: string; port: string };

/** A suggested completion of an expression. */
export type Completion = {
  /** The inserted text: "$plan", "goal". */
  text: string;
  /** The meaning of the text: "variable of plan", "param". */
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

/** The form of a node's fields, by a JSON Schema. */
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
   * Returns the edit for a field's new value, if it changes more than the value, such as lines. Without this function,
   * an edit sets the value at its path. `path` starts at the form's value.
   */
  edit?: (path: DocumentPath, value: unknown) => Edit | Refused;
};

/** An additional action on nodes, with an optional keyboard shortcut. */
export type EditAction = { label: string; key?: string; edit: Edit };

/**
 * The operations of an editor on one format of documents. All are pure functions of the parsed document; an edit is a
 * list of changes, which {@link editsOf} applies to the text.
 */
export type DocumentEditing = {
  /** Noun for a document of this format: "graph". */
  noun: string;
  emptyText: string;
  /** Reads a document. Never throws; leaves out parts that can't be drawn. */
  read: (document: unknown) => Drawing;
  /** Returns all problems of a document. */
  check: (document: unknown) => readonly Problem[];
  /**
   * Returns the name of another format, such as "a step workflow", for a refusal; null for a document of this format.
   */
  recognize: (document: unknown) => string | null;
  /** Adds a node. With `isChosen` the user has dropped it at the point; otherwise the layout may move the node. */
  add: (
    document: unknown,
    type: string,
    at: Point,
    parent: string | null,
    isChosen?: boolean,
  ) => Edit | Refused;
  /** Removes nodes and lines, by their ids. */
  remove: (document: unknown, nodes: readonly string[], edges: readonly string[]) => Edit | Refused;
  /** Moves nodes. Without this function, only the layout places nodes. */
  move?: (document: unknown, positions: readonly NodePosition[]) => Edit;
  /** Draws a line. `replacing` is the id of the line whose end was dragged. Returns null without a change. */
  connect: (
    document: unknown,
    from: PortAt,
    to: PortAt,
    replacing?: string,
  ) => Edit | Refused | null;
  /** Returns a JSON fragment for the clipboard: the nodes with the lines between them. */
  copy: (document: unknown, nodes: readonly string[]) => unknown;
  /** Pastes a fragment; returns null for a fragment of another kind. */
  paste: (
    document: unknown,
    fragment: unknown,
    at: Point,
    parent: string | null,
  ) => Edit | Refused | null;
  /** Returns the form of a node; null without fields. */
  form: (document: unknown, node: string) => NodeForm | null;
  /** Returns additional actions on nodes. */
  actions?: (document: unknown, nodes: readonly string[]) => readonly EditAction[];
  /** Returns the names in scope in a field of a node's form. */
  complete?: (document: unknown, node: string, path: DocumentPath) => readonly Completion[];
  /**
   * Returns the expression that refers to a run's value in a field of the node `field`; null if it can't refer to it.
   */
  expressionOf?: (document: unknown, value: RunValue, field: string) => string | null;
  /** Inserts an expression into the text of a field, by default at the caret. */
  insert?: (text: string, caret: number, expression: string, path: DocumentPath) => Inserted;
};
