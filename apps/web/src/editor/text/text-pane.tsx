import { deepest, pathAt, type TextEdit, treeOf } from "@uncaged/workflow/editing";
import { json } from "@codemirror/lang-json";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Annotation, EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, type ViewUpdate } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { useEffect, useRef } from "react";
import type { DocumentState, EditedDocument } from "../document/document.ts";
import { useEditor } from "../document/use-document.ts";

/** Marks changes that come from the document, so that they are not sent back to it. */
const fromDocument = Annotation.define<boolean>();

const highlight = HighlightStyle.define([
  { tag: [tags.bool, tags.null, tags.keyword], color: "var(--color-violet)" },
  { tag: tags.string, color: "var(--color-green)" },
  { tag: tags.number, color: "var(--color-amber)" },
  { tag: tags.propertyName, color: "var(--color-blue)" },
  {
    tag: [tags.separator, tags.punctuation, tags.brace, tags.squareBracket],
    color: "var(--color-muted)",
  },
]);

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "12px" },
  "&, .cm-gutters, .cm-panels, .cm-panels :is(button, input), .cm-tooltip": {
    background: "var(--color-surface)",
    color: "var(--color-ink)",
    borderColor: "var(--color-line)",
  },
  "&.cm-focused": { outline: "2px solid var(--color-accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.55" },
  ".cm-content, .cm-cursor": {
    caretColor: "var(--color-ink)",
    borderLeftColor: "var(--color-ink)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--color-hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "light-dark(#d9d6ff, #423f86)" },
  ".cm-foldPlaceholder": { background: "var(--color-gray-soft)", color: "var(--color-muted)" },
});

/** The document as text. It shares its history with the canvas. */
export default function TextPane() {
  const { document, isReadOnly } = useEditor();
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!host.current) return;
    // A shadow root, because the page's policy forbids inline styles.
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const view = new EditorView({
      parent: root as unknown as Element,
      root,
      state: EditorState.create({
        doc: document.state().text,
        extensions: [
          extensionsFor(document, isReadOnly),
          EditorView.updateListener.of((update) => pass(document, update)),
        ],
      }),
    });
    const { unsubscribe } = document.store.subscribe(follow(view, document));
    return () => {
      unsubscribe();
      view.destroy();
    };
  }, [document, isReadOnly]);
  return <div ref={host} className="h-full min-h-0 min-w-0" />;
}

function extensionsFor(document: EditedDocument, isReadOnly: boolean): Extension {
  const redo = () => {
    document.redo();
    return true;
  };
  const undo = () => {
    document.undo();
    return true;
  };
  return [
    // Keeps CRLF line ends as two characters, so that offsets match the document.
    EditorState.lineSeparator.of("\n"),
    EditorState.readOnly.of(isReadOnly),
    EditorView.contentAttributes.of({
      "aria-label": `JSON of the ${document.kind.noun}`,
      tabindex: "0",
    }),
    // First, because the keys of the setup undo changes of the pane only.
    keymap.of([
      { key: "Mod-z", run: undo, shift: redo },
      { key: "Mod-y", run: redo },
    ]),
    basicSetup,
    // Marks control characters, except those of CRLF line ends.
    highlightSpecialChars({ specialChars: /(?![\r\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu }),
    lintGutter(),
    json(),
    syntaxHighlighting(highlight),
    theme,
  ];
}

/** Sends typed changes to the document, and selects the node at the caret. */
function pass(document: EditedDocument, update: ViewUpdate): void {
  const { view, transactions, changes, docChanged, selectionSet } = update;
  const isFromDocument = transactions.some((transaction) => transaction.annotation(fromDocument));
  if (docChanged && !isFromDocument) {
    const edits: TextEdit[] = [];
    const before = update.startState.doc;
    changes.iterChanges((from, to, _, __, inserted) => {
      const removed = before.sliceString(from, to);
      edits.push({ offset: from, removed, inserted: inserted.toString() });
    });
    document.edit(edits, "Edit the JSON", "text");
  }
  if (selectionSet && !docChanged && view.hasFocus) selectSoon(document, view);
}

let timer: ReturnType<typeof setTimeout> | undefined;

function selectSoon(document: EditedDocument, view: EditorView): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const { broken, text } = document.state();
    const root = broken ? undefined : treeOf(text);
    if (root) document.reveal(pathAt(root, view.state.selection.main.head), false);
  }, 150);
}

/** Takes the text of the document, as one change of the part that differs. */
function takeText(view: EditorView, after: string): void {
  const before = view.state.doc.toString();
  if (before === after) return;
  const isSame = (one: number, other: number) => before[one] === after[other];
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && isSame(from, from)) from += 1;
  let [to, end] = [before.length, after.length];
  while (to > from && end > from && isSame(to - 1, end - 1)) [to, end] = [to - 1, end - 1];
  view.dispatch({
    changes: { from, to, insert: after.slice(from, end) },
    annotations: fromDocument.of(true),
  });
}

const mostDiagnostics = 200;

/** Takes texts, shows problems at their lines, and scrolls to a node that was selected outside the pane. */
function follow(view: EditorView, document: EditedDocument): () => void {
  let before: DocumentState | null = null;
  const look = () => {
    const state = document.state();
    const { text, problems, broken, selection } = state;
    const isElsewhere = before !== null && before.selection !== selection && !view.hasFocus;
    const isChecked = before?.problems !== problems || before.broken !== broken;
    const isTyped = before?.text === text;
    before = state;
    if (!isTyped) takeText(view, text);
    if (isChecked) view.dispatch(setDiagnostics(view.state, diagnosticsOf(document)));
    const [id, ...others] = selection.nodes;
    if (isElsewhere && id !== undefined && others.length === 0) reveal(view, document, id);
  };
  queueMicrotask(look);
  return look;
}

function diagnosticsOf(document: EditedDocument): Diagnostic[] {
  const { broken, problems, text } = document.state();
  if (broken) {
    const from = Math.min(broken.offset, text.length);
    return [
      { from, to: Math.min(from + 1, text.length), severity: "error", message: broken.message },
    ];
  }
  const root = problems.length > 0 ? treeOf(text) : undefined;
  if (!root) return [];
  return problems.slice(0, mostDiagnostics).map(({ path, message, severity }) => {
    const { offset, length } = deepest(root, path).node;
    // The problem of a whole object is shown at its first line.
    const end = text.indexOf("\n", offset);
    const to = Math.min(offset + length, end < 0 ? text.length : end);
    return { from: offset, to, severity, message };
  });
}

function reveal(view: EditorView, document: EditedDocument, id: string): void {
  const { drawing, text, broken } = document.state();
  const node = drawing.nodes.find((one) => one.id === id);
  const root = node && !broken ? treeOf(text) : undefined;
  if (!root || !node) return;
  const { offset } = deepest(root, node.path).node;
  view.dispatch({
    selection: { anchor: offset },
    effects: EditorView.scrollIntoView(offset, { y: "start", yMargin: 40 }),
    annotations: fromDocument.of(true),
  });
}
