/* Typed access to the fields of a foreign protocol. A field of another type counts as missing. */

export type Fields = Readonly<Record<string, unknown>>;

const none: Fields = {};

/** Returns the value if it is an object, else an object without fields. */
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : none);

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value.toWellFormed() : undefined;

/** Returns an integer; accepts decimal digits too. */
export function wholeOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : undefined;
}

/** The last second of JavaScript's date range. */
const longestSeconds = 8_640_000_000_000;

/** Returns a time in seconds since the epoch as ISO 8601. */
export const momentOf = (seconds: number | undefined): string | undefined =>
  seconds !== undefined && Math.abs(seconds) <= longestSeconds
    ? new Date(seconds * 1000).toISOString()
    : undefined;
