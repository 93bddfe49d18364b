/* Fields of a foreign protocol: each is what it must be, or missing. */

export type Fields = Readonly<Record<string, unknown>>;

const none: Fields = {};

/** An object; one without fields for anything else. */
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : none);

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value.toWellFormed() : undefined;

/** A whole number, also as decimal digits. */
export function wholeOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : undefined;
}

/** The end of the years that a date can have. */
const longestSeconds = 8_640_000_000_000;

/** A moment of seconds since the epoch, as ISO 8601. */
export const momentOf = (seconds: number | undefined): string | undefined =>
  seconds !== undefined && Math.abs(seconds) <= longestSeconds
    ? new Date(seconds * 1000).toISOString()
    : undefined;
