import { isRecord } from "../contract/show.ts";
import type { Inserted } from "./editing.ts";

export { isRecord };

/** Returns a value if it is a list, else an empty list. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns a value if it is a text, else an empty text. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns a noun with its count: `1 step`, `12 steps`. */
export const counted = (value: number, noun: string): string =>
  `${value.toLocaleString("en-US")} ${noun}${value === 1 ? "" : "s"}`;

/** Returns a text in one line of at most `longest` characters. */
export function shortened(text: string, longest: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

/** Returns whether two values are equal as JSON, ignoring the order of keys. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every(
    (name) =>
      Object.hasOwn(other, name) &&
      isSame((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]),
  );
}

/** Returns a text with an expression inserted at a caret. */
export const spliced = (text: string, caret: number, expression: string): Inserted => ({
  text: text.slice(0, caret) + expression + text.slice(caret),
  caret: caret + expression.length,
});
