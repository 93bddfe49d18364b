import { formatJson, ownIn, readJson } from "./json.ts";

/** A value as it is edited: as a text, or as JSON. */
export type ValueEdit = { text: string; isText: boolean };

export type ValueEdits = Readonly<Record<string, ValueEdit>>;

type Values = Readonly<Record<string, unknown>>;

/** Above this many characters of JSON a value is shown only when it is asked for. */
export const mostShown = 10_240;

/** A value to begin an edit with: a text as it is, all else as JSON. */
export const editOf = (value: unknown): ValueEdit =>
  typeof value === "string"
    ? { text: value, isText: true }
    : { text: formatJson(value) ?? "", isText: false };

export function switched({ text, isText }: ValueEdit): ValueEdit {
  if (isText) return { text: JSON.stringify(text), isText: false };
  const { value } = readJson(text);
  return { text: typeof value === "string" ? value : text, isText: true };
}

/** Why an edit is no value; null when it is one. */
export const problemOf = ({ isText, text }: ValueEdit): string | null =>
  isText ? null : readJson(text).problem;

export const valueOf = ({ isText, text }: ValueEdit): unknown =>
  isText ? text : readJson(text).value;

/** Whether an edit makes another value, or none. */
export const isChanged = (before: unknown, edit: ValueEdit): boolean =>
  problemOf(edit) !== null || JSON.stringify(valueOf(edit)) !== JSON.stringify(before);

/** The edited values that are other ones: only these are sent. */
export function overridesOf(before: Values, edits: ValueEdits): Record<string, unknown> {
  const changed = Object.entries(edits).filter(([name, edit]) =>
    isChanged(ownIn(before, name), edit),
  );
  return Object.fromEntries(changed.map(([name, edit]) => [name, valueOf(edit)]));
}
