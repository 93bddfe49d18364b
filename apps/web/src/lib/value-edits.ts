import { formatJson, readJson } from "./json.ts";
import { ownIn } from "./own.ts";

/** The edited text of a value. `isText` means a plain text; otherwise the text is JSON. */
export type ValueEdit = { text: string; isText: boolean };

export type ValueEdits = Readonly<Record<string, ValueEdit>>;

type Values = Readonly<Record<string, unknown>>;

/** The initial edit of a value: a text unchanged, other values as JSON. */
export const editOf = (value: unknown): ValueEdit =>
  typeof value === "string"
    ? { text: value, isText: true }
    : { text: formatJson(value) ?? "", isText: false };

export function switched({ text, isText }: ValueEdit): ValueEdit {
  if (isText) return { text: JSON.stringify(text), isText: false };
  const { value } = readJson(text);
  return { text: typeof value === "string" ? value : text, isText: true };
}

export const problemOf = ({ isText, text }: ValueEdit): string | null =>
  isText ? null : readJson(text).problem;

export const valueOf = ({ isText, text }: ValueEdit): unknown =>
  isText ? text : readJson(text).value;

/** Tells whether an edit changes the value or is invalid. */
export const isChanged = (before: unknown, edit: ValueEdit): boolean =>
  problemOf(edit) !== null || JSON.stringify(valueOf(edit)) !== JSON.stringify(before);

export function overridesOf(before: Values, edits: ValueEdits): Record<string, unknown> {
  const changed = Object.entries(edits).filter(([name, edit]) =>
    isChanged(ownIn(before, name), edit),
  );
  return Object.fromEntries(changed.map(([name, edit]) => [name, valueOf(edit)]));
}
