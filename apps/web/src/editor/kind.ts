import { type DocumentEditing, type EditAction, noteType } from "@uncaged/workflow/editing";
import { type LucideIcon, StickyNote } from "lucide-react";
import type { NodeState } from "../ui/states.tsx";

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

/** Notes, which are in every palette. */
export const notes: PaletteItem = {
  ...{ type: noteType, label: "Note", icon: StickyNote, hint: "A text for readers", key: "n" },
};

/** A document to start from. */
export type Template = { label: string; hint: string; load: () => Promise<{ default: object }> };

/** A document made from another program's file. */
export type Converted = {
  text: string;
  /** The program that wrote the file. */
  from: string;
  /** Parts of the file that were not converted, with their places in the file. */
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

/** An additional action on nodes with its icon: an item of their menu. */
export type KindAction = EditAction & { icon: LucideIcon };

/** A kind of document: the operations on its format, its palette and its templates. */
export type DocumentKind<Name extends string = "graph" | "steps"> = Omit<
  DocumentEditing,
  "actions"
> & {
  name: Name;
  templates?: readonly Template[];
  palette: readonly PaletteItem[];
  /** Converts another program's file; null for any other text. Throws an error for a broken file. */
  convert?: (text: string, file: string) => Promise<Converted | null>;
  /** Additional actions on nodes. A double click that opens nothing runs the first action. */
  actions?: (document: unknown, nodes: readonly string[]) => readonly KindAction[];
};
