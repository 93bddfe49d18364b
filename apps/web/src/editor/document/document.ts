import { replaceEqualDeep } from "@tanstack/react-query";
import { type Atom, createAtom } from "@tanstack/react-store";
import {
  applyEdits,
  type DocumentPath,
  type Drawing,
  type DrawnNode,
  type Edit,
  editsOf,
  type Problem,
  type Refused,
  type TextEdit,
} from "@uncaged/workflow/editing";
import { type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import type { DocumentKind } from "../kind.ts";
import { History, nothing, type Selection } from "./history.ts";

/*
 * Owns: the text of a document (the only source of truth), the values parsed from it, its history and its selection.
 * Does not own: storage, presentation, meaning (its kind).
 *
 * 1. Every change is an edit of the text, regardless of its source, and all edits share one history.
 * 2. While the text is not valid JSON, the drawing is the last valid one: visible, not editable.
 * 3. Unchanged nodes keep their object, so that only changed nodes are drawn again.
 */

/** The position and message of a JSON syntax error. */
export type Broken = { offset: number; line: number; message: string };

export type DocumentState = {
  readonly text: string;
  /** The last valid document. */
  readonly value: unknown;
  readonly broken: Broken | null;
  readonly drawing: Drawing;
  readonly problems: readonly Problem[];
  readonly selection: Selection;
  /** The last saved or opened text. */
  readonly saved: string;
  readonly undoable: string | null;
  readonly redoable: string | null;
  /** A message about a refused action, shown for some seconds. */
  readonly notice: { readonly text: string } | null;
};

/** Shows a node, and focuses it if `takesFocus`. */
export type RevealListener = (id: string, takesFocus: boolean) => void;

const checkAfterMs = 200;

export class EditedDocument {
  readonly kind: DocumentKind<string>;
  readonly store: Atom<DocumentState>;
  readonly #history = new History();
  readonly #revealListeners = new Set<RevealListener>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(kind: DocumentKind<string>, text: string = kind.emptyText, saved = text) {
    this.kind = kind;
    const { value, broken } = parsed(text);
    this.store = createAtom<DocumentState>({
      text,
      value,
      broken,
      drawing: kind.read(value),
      problems: [],
      selection: nothing,
      saved,
      undoable: null,
      redoable: null,
      notice: null,
    });
    this.#checkSoon();
  }

  readonly state = (): DocumentState => this.store.get();

  /** Applies an action's edit. Returns whether anything changed. */
  apply(edit: Edit | Refused | null): boolean {
    if (edit === null) return false;
    if ("refused" in edit) {
      this.say(edit.refused);
      return false;
    }
    const { broken, text } = this.state();
    if (broken) {
      this.say(`Invalid JSON in line ${broken.line}: fix it first.`);
      return false;
    }
    const edits = editsOf(text, edit.changes);
    const selection = edit.select ? { nodes: new Set(edit.select), edges: nothing.edges } : null;
    if (edits.length > 0) this.#push(edits, edit.label, edit.merge ?? null, selection);
    else if (selection) this.select(selection);
    return edits.length > 0;
  }

  edit(edits: TextEdit[], label: string, merge: string | null = null): void {
    if (edits.length > 0) this.#push(edits, label, merge, null);
  }

  /** Replaces the whole text with an import or a version. Can be undone. */
  replaceAll(text: string, label: string): void {
    const { text: before } = this.state();
    if (text !== before) this.edit([{ offset: 0, removed: before, inserted: text }], label);
  }

  undo(): void {
    this.#go(this.#history.undo(this.state().text));
  }

  redo(): void {
    this.#go(this.#history.redo(this.state().text));
  }

  select(selection: Selection): void {
    if (isSameSelection(selection, this.state().selection)) return;
    this.#set({ selection });
  }

  /** Selects and shows the node that contains the value at a path. By default, also focuses the node. */
  reveal(path: DocumentPath, takesFocus = true): void {
    const node = nodeAt(this.state().drawing, path);
    if (!node) return;
    this.select({ nodes: new Set([node.id]), edges: nothing.edges });
    for (const listener of this.#revealListeners) listener(node.id, takesFocus);
  }

  /** Subscribes to requests to show a node. */
  onReveal(listener: RevealListener): () => void {
    this.#revealListeners.add(listener);
    return () => this.#revealListeners.delete(listener);
  }

  /** Marks a text, by default the current text, as saved. */
  markSaved(text: string = this.state().text): void {
    this.#history.seal();
    this.#set({ saved: text });
  }

  say(text: string | null): void {
    this.#set({ notice: text === null ? null : { text } });
  }

  /** Runs the pending check at once. */
  check(): readonly Problem[] {
    clearTimeout(this.#timer);
    const { value, broken } = this.state();
    if (!broken) this.#set({ problems: this.kind.check(value) });
    return this.state().problems;
  }

  /** Cancels the pending check. */
  close(): void {
    clearTimeout(this.#timer);
  }

  #push(edits: TextEdit[], label: string, merge: string | null, after: Selection | null): void {
    const { selection: before, text } = this.state();
    const taken = this.#taken(applyEdits(text, edits), after ?? before);
    const entry = { edits, label, merge, before, after: taken.selection ?? before };
    this.#history.push(entry, performance.now());
    this.#change(taken);
  }

  #go(went: ReturnType<History["undo"]>): void {
    if (went) this.#change(this.#taken(went.text, went.selection));
  }

  #change(taken: Partial<DocumentState>): void {
    const { undoable, redoable } = this.#history;
    this.#set({ ...taken, undoable, redoable });
    this.#checkSoon();
  }

  /** The change of the state by a new text, by rules 2 and 3. */
  #taken(text: string, selection: Selection): Partial<DocumentState> {
    const { value, broken } = parsed(text);
    if (broken) return { text, broken };
    const drawing = replaceEqualDeep(this.state().drawing, this.kind.read(value));
    return { text, value, broken, drawing, selection: selectionIn(drawing, selection) };
  }

  #checkSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.check(), checkAfterMs);
  }

  #set(change: Partial<DocumentState>): void {
    this.store.set((before) => ({ ...before, ...change }));
  }
}

function parsed(text: string): { value: unknown; broken: Broken | null } {
  try {
    return { value: JSON.parse(text) as unknown, broken: null };
  } catch {
    const errors: ParseError[] = [];
    try {
      parseTree(text, errors, { allowEmptyContent: false, disallowComments: true });
    } catch {
      // The text is nested too deeply to find the position.
    }
    const [first] = errors;
    const at = first?.offset ?? text.length;
    const offset = Math.min(at, text.trimEnd().length);
    const line = text.slice(0, offset).split("\n").length;
    const code = first ? printParseErrorCode(first.error) : "InvalidJson";
    // CommaExpected reads "comma expected".
    const message = code.replaceAll(/(?!^)[A-Z]/g, " $&").toLowerCase();
    return { value: null, broken: { offset, line, message } };
  }
}

/** The part of a selection that exists. Returns the same object if all of it exists, to avoid a redraw. */
function selectionIn(drawing: Drawing, selection: Selection): Selection {
  const nodes = among(selection.nodes, drawing.nodes);
  const edges = among(selection.edges, drawing.edges);
  return nodes === selection.nodes && edges === selection.edges ? selection : { nodes, edges };
}

function among(ids: ReadonlySet<string>, all: readonly { id: string }[]): ReadonlySet<string> {
  const kept = ids.intersection(new Set(all.map(({ id }) => id)));
  return kept.size === ids.size ? ids : kept;
}

const isSameSelection = (one: Selection, other: Selection): boolean =>
  one.nodes.symmetricDifference(other.nodes).size === 0 &&
  one.edges.symmetricDifference(other.edges).size === 0;

/** The innermost node whose path leads to a value of a document. */
export function nodeAt(drawing: Drawing, path: DocumentPath): DrawnNode | null {
  let found: DrawnNode | null = null;
  for (const node of drawing.nodes) {
    const isOn = node.path.every((key, depth) => key === path[depth]);
    if (isOn && node.path.length > (found?.path.length ?? 0)) found = node;
  }
  return found;
}
