import { isPlain } from "../expression/value.ts";

/** The keys and indexes that lead from the document to a value in it. */
export type ViolationPath = readonly (string | number)[];

const longest = 60;

/** A value in a message: a short text in quotes, a number, or what it is. */
export function shown(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** A text in quotes, on one line, shortened when it is long. */
export function quoted(text: string): string {
  const part = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return JSON.stringify(part.toWellFormed()).replace(/[\p{Cc}\u2028\u2029]/gu, "?");
}

/** A path as people write it: `in.messages[0].content`. */
export function showPath(path: ViolationPath): string {
  const parts = path.map((part) => {
    if (typeof part === "number") return `[${part}]`;
    return /^[\w$]{1,60}$/.test(part) ? `.${part}` : `[${quoted(part)}]`;
  });
  return parts.join("").replace(/^\./, "");
}

/**
 * The form of a value: those few keywords of JSON Schema that our formats need. The checks of documents
 * and checkpoints read it, and the published JSON Schema is made of it. `expected` replaces the keywords
 * in messages.
 */
export type Form = {
  expected?: string;
  description?: string;
  type?: "boolean" | "string" | "number" | "integer" | "array" | "object";
  anyOf?: readonly Form[];
  enum?: readonly string[];
  minLength?: 1;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: 0;
  items?: Form;
  prefixItems?: readonly Form[];
  minItems?: number;
  maxItems?: number;
  properties?: Readonly<Record<string, Form>>;
  required?: readonly string[];
  additionalProperties?: Form;
};

type Plain = { boolean: boolean; string: string; number: number; integer: number };

export type TypeOf<F> = F extends { readonly anyOf: readonly (infer Each)[] }
  ? TypeOf<Each>
  : F extends { readonly type: keyof Plain }
    ? Plain[F["type"]]
    : F extends { readonly type: "array" }
      ? ItemsOf<F>
      : F extends { readonly type: "object" }
        ? RecordOf<F>
        : unknown;

type ItemsOf<F> = F extends { readonly prefixItems: infer Each }
  ? { -readonly [At in keyof Each]: TypeOf<Each[At]> }
  : F extends { readonly items: infer Each }
    ? TypeOf<Each>[]
    : unknown[];

type RecordOf<F> = F extends { readonly properties: infer All }
  ? { -readonly [Name in keyof All & RequiredOf<F>]: TypeOf<All[Name]> } & {
      -readonly [Name in Exclude<keyof All, RequiredOf<F>>]?: TypeOf<All[Name]>;
    } & { [name: string]: unknown }
  : F extends { readonly additionalProperties: infer Each }
    ? Record<string, TypeOf<Each>>
    : Record<string, unknown>;

type RequiredOf<F> = F extends { readonly required: readonly (infer Name)[] } ? Name : never;

/** A value that has not its form, reported as "in must be an object, not 3". */
type FormViolation = { path: ViolationPath; text: string };

/** All places where a value has not its form. `path` leads to the value. */
export function violationsOf(form: Form, value: unknown, path: ViolationPath): FormViolation[] {
  if (form.anyOf) return violationsOfAny(form, value, path);
  if (!fits(form, value)) return [violation(form, value, path)];
  if (form.type === "array" && Array.isArray(value)) {
    return value.flatMap((item: unknown, index) =>
      violationsOf(form.prefixItems?.[index] ?? form.items ?? {}, item, [...path, index]),
    );
  }
  return form.type === "object" && isPlain(value) ? violationsOfObject(form, value, path) : [];
}

export const own = (value: unknown, key: string): unknown =>
  isPlain(value) && Object.hasOwn(value, key) ? value[key] : undefined;

export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function violationsOfObject(
  { properties = {}, required = [], additionalProperties = {} }: Form,
  value: Readonly<Record<string, unknown>>,
  path: ViolationPath,
): FormViolation[] {
  const missing = required.filter((key) => own(value, key) === undefined);
  return [
    ...missing.map((key) => ({ path, text: `${showPath([...path, key])} is missing` })),
    ...Object.entries(value).flatMap(([key, item]) => {
      const form = (own(properties, key) as Form | undefined) ?? additionalProperties;
      return item === undefined ? [] : violationsOf(form, item, [...path, key]);
    }),
  ];
}

// Of several forms the one of the value's own type is more exact than "must be this or that".
function violationsOfAny(form: Form, value: unknown, path: ViolationPath): FormViolation[] {
  const found = (form.anyOf ?? []).map((one) => violationsOf(one, value, path));
  if (found.some((violations) => violations.length === 0)) return [];
  const inside = found.find((violations) =>
    violations.every((one) => one.path.length > path.length),
  );
  return inside ?? [violation(form, value, path)];
}

function fits(form: Form, value: unknown): boolean {
  switch (form.type) {
    case undefined:
      return true;
    case "boolean":
      return typeof value === "boolean";
    case "string":
      if (typeof value !== "string" || value.length < (form.minLength ?? 0)) return false;
      if (form.pattern !== undefined && !new RegExp(form.pattern).test(value)) return false;
      return form.enum?.includes(value) ?? true;
    case "number":
    case "integer":
      if (typeof value !== "number" || !Number.isFinite(value)) return false;
      if (form.type === "integer" && !Number.isSafeInteger(value)) return false;
      if (value > (form.maximum ?? Infinity)) return false;
      return value >= (form.minimum ?? -Infinity) && value > (form.exclusiveMinimum ?? -Infinity);
    case "array": {
      const { minItems = 0, maxItems = Infinity } = form;
      return Array.isArray(value) && value.length >= minItems && value.length <= maxItems;
    }
    case "object":
      return isPlain(value);
  }
}

function violation(form: Form, value: unknown, path: ViolationPath): FormViolation {
  const isEmpty = form.type === "array" && Array.isArray(value) && value.length === 0;
  const actual = isEmpty ? "an empty array" : shown(value);
  return { path, text: `${showPath(path)} must be ${wordsFor(form)}, not ${actual}` };
}

function wordsFor(form: Form): string {
  if (form.expected) return form.expected;
  switch (form.type) {
    case undefined:
      return form.anyOf?.map(wordsFor).join(" or ") ?? "anything";
    case "string":
      if (form.enum) return listed(form.enum);
      return form.minLength ? "a text that is not empty" : "a text";
    case "boolean":
      return "true or false";
    case "integer":
      return form.minimum === undefined ? "a whole number" : `a whole number from ${form.minimum}`;
    case "number":
      return form.exclusiveMinimum === undefined ? "a number" : "a number above 0";
    case "array":
      return form.minItems ? "an array that is not empty" : "an array";
    case "object":
      return "an object";
  }
}

/** Texts in a sentence: `"a", "b" or "c"`. */
export function listed(texts: readonly string[]): string {
  const all = texts.map((text) => JSON.stringify(text));
  const last = all.pop() ?? "";
  return all.length > 0 ? `${all.join(", ")} or ${last}` : last;
}
