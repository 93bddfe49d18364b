import type { LucideIcon } from "lucide-react";
import type { NodeState } from "../ui/states.tsx";

/*
 * What an editor must know of the documents that it edits. The editor knows their text, a feature knows what
 * it means: it implements `DocumentKind` in pure functions of the parsed document.
 */

/** The names and indexes that lead to a value of a document, from its root. */
export type DocumentPath = readonly (string | number)[];

export type Point = { readonly x: number; readonly y: number };

/** A JSON Schema as data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * One change of a document. Paths lead through the document before the edit, whatever else the edit changes:
 * who removes the items 1 and 3 names 1 and 3.
 */
export type Change = {
  path: DocumentPath;
  /** What is there afterwards; undefined removes it. Objects on the way that are missing are made. */
  value: unknown;
  /** The value is added to a list before the item that the path names; its length is behind the last. */
  insert?: true;
};

/** What one action does: one step of the history. */
export type Edit = {
  /** What was done, as the history shows it: "Move 3 nodes". */
  label: string;
  changes: readonly Change[];
  /** The ids that are selected afterwards; the selection stays without them. */
  select?: readonly string[];
  /** Edits of one key that follow each other soon are one step of the history: typing into a field. */
  merge?: string;
};

/** An edit that can't be made, and why: it is shown, and nothing changes. */
export type Refused = { refused: string };

export type Side = "top" | "right" | "bottom" | "left";

/** Where lines begin or end at a node. */
export type Port = {
  id: string;
  role: "in" | "out";
  side: Side;
  /** What is written at it. */
  label: string | null;
  /** Whether a line can be drawn from or to it. */
  isOpen: boolean;
  hint?: string;
};

export type DrawnNode = {
  id: string;
  /** As in the palette, which has its icon. */
  type: string;
  title: string;
  /** What its body shows, at most a few short lines. */
  lines: readonly string[];
  /** Its left upper corner, in its container where it has one; null where the layout places it. */
  at: Point | null;
  /** The id of the container that it lies in. */
  parent: string | null;
  isContainer: boolean;
  /** It can't be deleted or copied. */
  isFixed: boolean;
  ports: readonly Port[];
  /** Where it is in the document; problems below it are shown at it. */
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

/** A document as it is drawn. Each node stands behind the container that it lies in. */
export type Drawing = { nodes: readonly DrawnNode[]; edges: readonly DrawnEdge[] };

export type Problem = {
  path: DocumentPath;
  message: string;
  severity: "error" | "warning";
};

/** One type of node in the palette. */
export type PaletteItem = {
  type: string;
  label: string;
  icon: LucideIcon;
  hint: string;
  /** The letter that adds it, in the palette's own list of keys. */
  key: string;
  /** It stands in the drawing, and can't be added. */
  isHidden?: true;
};

export type NodePosition = { id: string; at: Point; parent: string | null };

export type PortAt = { node: string; port: string };

/** What can be written in an expression. */
export type Completion = {
  /** What is inserted: "$plan", "goal". */
  text: string;
  /** What it is: "variable of plan", "param". */
  detail: string;
};

/** The form of a node. */
export type NodeForm = {
  /** The schema of the value; an object's properties are the fields. */
  schema: JsonSchema;
  /** Where the value is in the document; it need not be there yet. */
  path: DocumentPath;
  value: unknown;
  /** Why a field can't be changed, by its name. */
  locked?: Readonly<Record<string, string>>;
  /** Fields, by their dotted paths ("input", "data.value"), that are expressions or maps of them. */
  expressions?: readonly string[];
  /**
   * The edit when a field gets another value: by default it is set at its path. Where it needs more, as
   * lines that go with it, the kind makes all of it. `path` begins at the form's value.
   */
  edit?: (path: DocumentPath, value: unknown) => Edit | Refused;
};

/** What a node does while its document runs: of its newest attempt. */
export type LiveNode = {
  state: NodeState;
  tokens: number;
  /** In dollars. */
  cost: number;
  durationMs: number | null;
  /** How often it ran, the current time included. */
  run: number;
};

/** Something else that can be done with nodes: an item of their menu, and a key where it has one. */
export type KindAction = { label: string; icon: LucideIcon; key?: string; edit: Edit };

export type DocumentKind<Name extends string = "graph" | "steps"> = {
  name: Name;
  /** What such a document is called: "graph". */
  noun: string;
  /** The text of a new document. */
  emptyText: string;
  palette: readonly PaletteItem[];
  /** Total: it never throws, and leaves out what can't be drawn. */
  read: (document: unknown) => Drawing;
  /** All that is wrong with a document. It is asked some time after a change; a newer one aborts it. */
  check: (
    document: unknown,
    signal: AbortSignal,
  ) => readonly Problem[] | Promise<readonly Problem[]>;
  /** What other format a document has, for the message that refuses it: "a step workflow"; null for its own. */
  recognize: (document: unknown) => string | null;
  /** `isChosen`: its reader has dropped it there; else it is a free place, and the layout may have a better one. */
  add: (
    document: unknown,
    type: string,
    at: Point,
    parent: string | null,
    isChosen?: boolean,
  ) => Edit | Refused;
  remove: (document: unknown, nodes: readonly string[], edges: readonly string[]) => Edit | Refused;
  /** Without it the layout places all nodes, and nobody else can. */
  move?: (document: unknown, positions: readonly NodePosition[]) => Edit;
  /** Draws a line; `replacing` is the id of the one whose end was dragged away. Null: nothing to do. */
  connect: (
    document: unknown,
    from: PortAt,
    to: PortAt,
    replacing?: string,
  ) => Edit | Refused | null;
  /** What the clipboard gets: JSON, with the lines between the nodes. */
  copy: (document: unknown, nodes: readonly string[]) => unknown;
  /** Null when the fragment is none of this kind. */
  paste: (
    document: unknown,
    fragment: unknown,
    at: Point,
    parent: string | null,
  ) => Edit | Refused | null;
  /** Null when the node has no form. */
  form: (document: unknown, node: string) => NodeForm | null;
  /** What else can be done with some nodes; a double click on one does the first, where nothing else is opened. */
  actions?: (document: unknown, nodes: readonly string[]) => readonly KindAction[];
  /** What is in scope in a field of a node's form. */
  complete?: (document: unknown, node: string, path: DocumentPath) => readonly Completion[];
};
