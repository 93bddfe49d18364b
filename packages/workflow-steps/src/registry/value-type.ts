import { isPlain } from "../expression/value.ts";

const isText = (value: unknown): boolean => typeof value === "string";

/** What a value of each type is. */
const checks: Readonly<Record<string, (value: unknown) => boolean>> = {
  STRING: isText,
  INT: (value) => Number.isSafeInteger(value),
  BOOL: (value) => typeof value === "boolean",
  OBJECT: isPlain,
  ARRAY: (value) => Array.isArray(value),
  FILE_REF: isText,
  "[OBJECT]": (value) => Array.isArray(value) && value.every(isPlain),
  "[STRING]": (value) => Array.isArray(value) && value.every(isText),
};

/** Whether a type is one that values are checked against. */
export const isKnownType = (type: string): boolean => Object.hasOwn(checks, type);

/** A type as it is written in any case: a known one in capitals, another one as it is. */
export function canonicalType(text: string): string {
  const type = text.replace(/\s+/g, "").toUpperCase();
  return isKnownType(type) ? type : text.trim();
}

/** Whether a value is of a type. Every value is of a type that is not known. */
export const isOfType = (value: unknown, type: string): boolean =>
  isKnownType(type) ? (checks[type]?.(value) ?? true) : true;

/** Whether the values of a type are texts, so that a default needs no quotes. */
export const isTextType = (type: string): boolean => type === "STRING" || type === "FILE_REF";
