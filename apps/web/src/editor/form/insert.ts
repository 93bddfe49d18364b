import { type DocumentPath, isRecord, spliced } from "@uncaged/workflow/editing";
import type { EditedDocument } from "../document/document.ts";
import type { LastField } from "./last-field.ts";
import { editAt } from "./node-form.tsx";

/** Inserts an expression into a field. Returns the field with its caret after the expression; null without an edit. */
export function insertAt(
  document: EditedDocument,
  field: LastField,
  expression: string,
): LastField | null {
  const { node, path, caret } = field;
  const { kind } = document;
  const form = kind.form(document.state().value, node);
  const text = form && (valueAt(form.value, path) ?? "");
  if (!form || typeof text !== "string") return null;
  const put = kind.insert?.(text, caret, expression, path) ?? spliced(text, caret, expression);
  const isDone = document.apply(editAt(form, node, path, put.text));
  return isDone ? { ...field, caret: put.caret } : null;
}

const valueAt = (value: unknown, path: DocumentPath): unknown =>
  path.reduce<unknown>(
    (at, part) =>
      isRecord(at) || Array.isArray(at) ? (at as Record<string, unknown>)[part] : null,
    value,
  );

/** Focuses a field of the visible form, with the caret at its place. */
export function focusField({ path, caret }: LastField): void {
  const name = JSON.stringify(path);
  for (const area of window.document.querySelectorAll<HTMLTextAreaElement>(
    "#editor-form textarea",
  )) {
    if (area.dataset.path !== name) continue;
    area.focus();
    area.setSelectionRange(caret, caret);
  }
}
