/** Formats a user's text for an error message: on one line, without control characters, truncated. */
export function show(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Describes the type of a value, for a message after the word "is". */
export function kindOf(value: unknown): string {
  if (Number.isFinite(value)) return "a number";
  if (Array.isArray(value)) return "an array";
  const type = typeof value;
  if (value === null || ["undefined", "boolean", "number"].includes(type)) return String(value);
  if (type !== "object") return `a ${type}`;
  const name = String(Object.getPrototypeOf(value)?.constructor?.name ?? "Object");
  return name === "Object" || !/^[\w$]{1,80}$/.test(name) ? "an object" : `an instance of ${name}`;
}

/** Formats a value for an error message: a text or a number itself, anything else by its type. */
export const shown = (value: unknown): string =>
  typeof value === "string" ? show(value) : typeof value === "number" ? `${value}` : kindOf(value);

/** Returns whether a value is an object of any class, but not an array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns whether a value is an object made by `{}`, in any realm, or an object without a prototype. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
