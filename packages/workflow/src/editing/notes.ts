import type { Change, DocumentEditing, DrawnNode, Edit, Point, Refused } from "./editing.ts";
import { counted, isRecord, listOf, textOf } from "./parts.ts";

/** Type of the notes on a canvas. */
export const noteType = "note";

type Note = { id: string; text: string; at: Point; index: number };

const prefix = "note:";

const isNote = (id: string): boolean => id.startsWith(prefix);

function notesIn(document: unknown): Note[] {
  const list = listOf(isRecord(document) ? document.notes : null);
  const seen = new Set<string>();
  return list.flatMap((given: unknown, index): Note[] => {
    const { id, text, x, y } = isRecord(given) ? given : {};
    if (typeof id !== "string" || seen.has(id)) return [];
    seen.add(id);
    const at = { x: Number.isFinite(x) ? Number(x) : 0, y: Number.isFinite(y) ? Number(y) : 0 };
    return [{ id: prefix + id, text: textOf(text), at, index }];
  });
}

const drawn = ({ id, text, at, index }: Note): DrawnNode => ({
  ...{ id, at, type: noteType, title: "Note", lines: text.split("\n"), path: ["notes", index] },
  ...{ parent: null, isContainer: false, isFixed: false, ports: [] },
});

/** Returns the changes that append notes to the document's list, and the ids of the new notes. */
function added(document: unknown, notes: readonly { text: string; at: Point }[]) {
  const known = new Set(notesIn(document).map(({ id }) => id));
  const length = isRecord(document) && Array.isArray(document.notes) ? document.notes.length : null;
  let number = 0;
  const made = notes.map(({ text, at }) => {
    do number += 1;
    while (known.has(`${prefix}note-${number}`));
    return { id: `note-${number}`, text, x: Math.round(at.x), y: Math.round(at.y) };
  });
  const changes: Change[] =
    length === null
      ? [{ path: ["notes"], value: made }]
      : made.map((value, index) => ({ path: ["notes", length + index], value, insert: true }));
  return { changes, select: made.map(({ id }) => prefix + id) };
}

/** Combines the changes of notes with the edit of other nodes. */
function joined(label: string, notes: readonly Change[], edit: Edit | Refused | null) {
  if (edit === null || "refused" in edit)
    return notes.length > 0 ? { label, changes: notes } : edit;
  return notes.length > 0 ? { ...edit, label, changes: [...edit.changes, ...notes] } : edit;
}

/** Returns the operations of a format of documents, extended by notes in the field `notes`, which engines ignore. */
export function withNotes(kind: DocumentEditing): DocumentEditing {
  const chosen = (document: unknown, ids: readonly string[]) =>
    notesIn(document).filter(({ id }) => ids.includes(id));
  const others = (ids: readonly string[]) => ids.filter((id) => !isNote(id));
  return {
    ...kind,
    read(document) {
      const { nodes, edges } = kind.read(document);
      return { nodes: [...nodes, ...notesIn(document).map(drawn)], edges };
    },
    add(document, type, at, parent, isChosen) {
      if (type !== noteType) return kind.add(document, type, at, parent, isChosen);
      return { label: "Add a note", ...added(document, [{ text: "", at }]) };
    },
    remove(document, ids, edges) {
      const notes = chosen(document, ids).map(({ index }) => ({
        path: ["notes", index],
        value: undefined,
      }));
      const rest = others(ids);
      const edit = rest.length + edges.length > 0 ? kind.remove(document, rest, edges) : null;
      const label = `Delete ${counted(ids.length, "node")}`;
      return joined(label, notes, edit) ?? { label, changes: [] };
    },
    ...(kind.move &&
      ({
        move(document: unknown, positions) {
          const notes = notesIn(document).flatMap(({ id, index, at }): Change[] => {
            const to = positions.find((one) => one.id === id)?.at;
            if (!to) return [];
            const [x, y] = [Math.round(to.x), Math.round(to.y)];
            return [
              ...(at.x === x ? [] : [{ path: ["notes", index, "x"], value: x }]),
              ...(at.y === y ? [] : [{ path: ["notes", index, "y"], value: y }]),
            ];
          });
          const rest = positions.filter(({ id }) => !isNote(id));
          const edit = kind.move?.(document, rest) ?? { label: "", changes: [] };
          return { ...edit, changes: [...edit.changes, ...notes] };
        },
      } satisfies Pick<DocumentEditing, "move">)),
    copy(document, ids) {
      const notes = chosen(document, ids).map(({ text, at }) => ({ text, ...at }));
      const rest = others(ids);
      const fragment = rest.length > 0 ? kind.copy(document, rest) : {};
      return notes.length > 0 && isRecord(fragment) ? { ...fragment, notes } : fragment;
    },
    paste(document, fragment, at, parent) {
      const copies = listOf(isRecord(fragment) ? fragment.notes : null);
      const notes = copies.filter(isRecord).map(({ text }, index) => ({
        text: textOf(text),
        at: { x: at.x + index * 28, y: at.y + index * 28 },
      }));
      const edit = kind.paste(document, fragment, at, parent);
      if (notes.length === 0) return edit;
      const { changes, select } = added(document, notes);
      const label = edit && "label" in edit ? edit.label : `Paste ${counted(notes.length, "note")}`;
      const all = edit && "select" in edit ? [...(edit.select ?? []), ...select] : select;
      const whole = joined(label, changes, edit);
      return whole && "changes" in whole ? { ...whole, select: all } : whole;
    },
    form(document, id) {
      if (!isNote(id)) return kind.form(document, id);
      const note = notesIn(document).find((one) => one.id === id);
      if (!note) return null;
      const text = { type: "string", title: "Text", format: "multiline" };
      const schema = { type: "object", properties: { text }, required: ["text"] };
      return { schema, path: ["notes", note.index], value: { text: note.text } };
    },
    ...(kind.actions &&
      ({
        actions: (document, ids) => kind.actions?.(document, others(ids)) ?? [],
      } satisfies Pick<DocumentEditing, "actions">)),
    ...(kind.complete &&
      ({
        complete: (document, id, path) =>
          isNote(id) ? [] : (kind.complete?.(document, id, path) ?? []),
      } satisfies Pick<DocumentEditing, "complete">)),
  };
}
