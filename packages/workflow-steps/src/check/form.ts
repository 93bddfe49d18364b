import { type FaultPath, shown, showPath } from "./fault.ts";

/**
 * The form of a field: those few keywords of JSON Schema that the fields need. The checker reads it, and
 * the published JSON Schema is made of it. `expected` stands in messages for what the keywords say.
 */
export type Form = { readonly expected?: string } & (
  | { readonly type?: undefined; readonly anyOf?: undefined }
  | { readonly type?: undefined; readonly anyOf: readonly Form[] }
  | { readonly type: "boolean" }
  | { readonly type: "string"; readonly minLength?: 1; readonly enum?: readonly string[] }
  | {
      readonly type: "number" | "integer";
      readonly minimum?: number;
      readonly exclusiveMinimum?: 0;
    }
  | ArrayForm
  | ObjectForm
);

type ArrayForm = {
  readonly type: "array";
  readonly items?: Form;
  readonly prefixItems?: readonly Form[];
  readonly minItems?: number;
  readonly maxItems?: number;
};

type ObjectForm = {
  readonly type: "object";
  readonly properties?: Readonly<Record<string, Form>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Form;
};

/** A place where a value has not its form, told as "in must be an object, not 3". */
export type Misfit = { path: FaultPath; text: string };

/** All places where a value has not its form. `path` leads to the value. */
export function misfitsIn(form: Form, value: unknown, path: FaultPath): Misfit[] {
  if (form.type === "array" && Array.isArray(value) && hasLength(form, value)) {
    return value.flatMap((item: unknown, index) =>
      misfitsIn(form.prefixItems?.[index] ?? form.items ?? {}, item, [...path, index]),
    );
  }
  if (form.type === "object" && isRecord(value)) return misfitsOfObject(form, value, path);
  if (form.type === undefined && form.anyOf) return misfitsOfAny(form, form.anyOf, value, path);
  return fits(form, value) ? [] : [misfit(form, value, path)];
}

/** Whether a value is an object and no array. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value of an object's own key; undefined when there is none, or no object. */
export const own = (value: unknown, key: string): unknown =>
  isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;

/** The items of an array; none of anything else. */
export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function misfitsOfObject(
  { properties = {}, required = [], additionalProperties = {} }: ObjectForm,
  value: Readonly<Record<string, unknown>>,
  path: FaultPath,
): Misfit[] {
  const missing = required.filter((key) => own(value, key) === undefined);
  return [
    ...missing.map((key) => ({ path, text: `${showPath([...path, key])} is missing` })),
    ...Object.entries(value).flatMap(([key, item]) => {
      const form = (own(properties, key) as Form | undefined) ?? additionalProperties;
      return item === undefined ? [] : misfitsIn(form, item, [...path, key]);
    }),
  ];
}

// Of several forms the one of the value's own type tells more than "must be this or that".
function misfitsOfAny(
  form: Form,
  forms: readonly Form[],
  value: unknown,
  path: FaultPath,
): Misfit[] {
  const found = forms.map((one) => misfitsIn(one, value, path));
  if (found.some((misfits) => misfits.length === 0)) return [];
  const inside = found.find((misfits) => misfits.every((one) => one.path.length > path.length));
  return inside ?? [misfit(form, value, path)];
}

function fits(form: Form, value: unknown): boolean {
  switch (form.type) {
    case undefined:
      return true;
    case "string":
      if (typeof value !== "string" || value.length < (form.minLength ?? 0)) return false;
      return form.enum?.includes(value) ?? true;
    case "boolean":
      return typeof value === "boolean";
    case "number":
    case "integer":
      if (typeof value !== "number" || !Number.isFinite(value)) return false;
      if (form.type === "integer" && !Number.isInteger(value)) return false;
      return value >= (form.minimum ?? -Infinity) && value > (form.exclusiveMinimum ?? -Infinity);
    default:
      return false;
  }
}

const hasLength = ({ minItems = 0, maxItems = Infinity }: ArrayForm, value: readonly unknown[]) =>
  value.length >= minItems && value.length <= maxItems;

const misfit = (form: Form, value: unknown, path: FaultPath): Misfit => ({
  path,
  text: `${showPath(path)} must be ${wordsFor(form)}, not ${actual(form, value)}`,
});

const actual = (form: Form, value: unknown): string =>
  form.type === "array" && Array.isArray(value) && value.length === 0
    ? "an empty array"
    : shown(value);

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
