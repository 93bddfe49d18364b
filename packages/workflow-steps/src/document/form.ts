import * as z from "zod/mini";
import { isPlain } from "../expression/value.ts";

/** Keys and indexes that lead from the document to a value in it. */
export type ViolationPath = readonly (string | number)[];

const longest = 60;

/** Returns a value for a message: a short text in quotes, a number, or its kind. */
export function shown(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** Returns a text in quotes, on one line, shortened if it is long. */
export function quoted(text: string): string {
  const part = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return JSON.stringify(part.toWellFormed()).replace(/[\p{Cc}\u2028\u2029]/gu, "?");
}

/** Returns a path in the usual notation: `in.messages[0].content`. */
export function showPath(path: ViolationPath): string {
  const parts = path.map((part) => {
    if (typeof part === "number") return `[${part}]`;
    return /^[\w$]{1,60}$/.test(part) ? `.${part}` : `[${quoted(part)}]`;
  });
  return parts.join("").replace(/^\./, "");
}

/** The expected form of a value. Each error message names the expected value: "a string". */
export type Form = z.ZodMiniType;

/** A value of the wrong form, reported as "in must be an object, not 3". */
type FormViolation = { path: ViolationPath; text: string };

/** Returns all values of the wrong form inside a value. `path` is the path of that value. */
export function violationsOf(form: Form, value: unknown, path: ViolationPath): FormViolation[] {
  const issues = z.safeParse(form, value).error?.issues ?? [];
  const found = issues.flatMap((issue) => violationsIn(issue, value, path));
  // Several violations of one number have the same text, so report only one.
  return found.filter(({ text }, at) => found.findIndex((one) => one.text === text) === at);
}

function violationsIn(
  issue: z.core.$ZodIssue,
  within: unknown,
  path: ViolationPath,
): FormViolation[] {
  const way = issue.path.map((part) => (typeof part === "symbol" ? "" : part));
  const place = [...path, ...way];
  const value = way.reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], within);
  if (value === undefined && typeof way.at(-1) === "string") {
    return [{ path: place.slice(0, -1), text: `${showPath(place)} is missing` }];
  }
  if (issue.code === "invalid_union") {
    // In a union, the form with the value's own type gives a more exact message than "must be this or that".
    const forms = issue.errors.map((one) =>
      one.flatMap((each) => violationsIn(each, value, place)),
    );
    const inside = forms.find((found) => found.every((one) => one.path.length > place.length));
    if (inside) return inside;
  }
  const isEmpty = issue.code === "too_small" && Array.isArray(value) && value.length === 0;
  const actual = isEmpty ? "an empty array" : shown(value);
  return [{ path: place, text: `${showPath(place)} must be ${issue.message}, not ${actual}` }];
}

export const own = (value: unknown, key: string): unknown =>
  isPlain(value) && Object.hasOwn(value, key) ? value[key] : undefined;

export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Joins texts for a sentence: `"a", "b" or "c"`. */
export function listed(texts: readonly string[]): string {
  const all = texts.map((text) => JSON.stringify(text));
  const last = all.pop() ?? "";
  return all.length > 0 ? `${all.join(", ")} or ${last}` : last;
}
