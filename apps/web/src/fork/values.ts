import { laidOut, ownIn, readJson } from "../schema/json.ts";

/** A value as it is edited: as a text, or as JSON. */
export type Edit = { text: string; isText: boolean };

/** The values that were edited, by name. */
export type Edits = Readonly<Record<string, Edit>>;

type Values = Readonly<Record<string, unknown>>;

/** Above this many characters of JSON a value is shown only when it is asked for. */
export const mostShown = 10_240;

/** A value to begin an edit with: a text as it is, all else as JSON. */
export const editOf = (value: unknown): Edit =>
  typeof value === "string"
    ? { text: value, isText: true }
    : { text: laidOut(value) ?? "", isText: false };

/** The same edit in the other form. */
export function switched({ text, isText }: Edit): Edit {
  if (isText) return { text: JSON.stringify(text), isText: false };
  const { value } = readJson(text);
  return { text: typeof value === "string" ? value : text, isText: true };
}

/** Why an edit is no value; null when it is one. */
export const problemOf = ({ isText, text }: Edit): string | null =>
  isText ? null : readJson(text).problem;

/** The value that an edit makes. */
export const valueOf = ({ isText, text }: Edit): unknown => (isText ? text : readJson(text).value);

/** Whether an edit makes another value, or none. */
export const isChanged = (before: unknown, edit: Edit): boolean =>
  problemOf(edit) !== null || JSON.stringify(valueOf(edit)) !== JSON.stringify(before);

/** The edited values that are other ones: only these are sent. */
export function overridesOf(before: Values, edits: Edits): Record<string, unknown> {
  const changed = Object.entries(edits).filter(([name, edit]) =>
    isChanged(ownIn(before, name), edit),
  );
  return Object.fromEntries(changed.map(([name, edit]) => [name, valueOf(edit)]));
}
