/** What an event brings, once it is known to be an object. */
export type Payload = Record<string, unknown>;

export const isObject = (value: unknown): value is Payload =>
  typeof value === "object" && value !== null;

/** A value as text: a text itself, the preview of what was cut, anything else as JSON; nothing is empty. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (isObject(value) && value._truncated === true) return textOf(value.preview);
  return value === undefined ? "" : (JSON.stringify(value) ?? "");
}
