import { getStepType, type RegistryDocument, type StepType } from "../document/document.ts";
import { type Outline, outlineOf } from "../outline/outline.ts";

/** The type under which the table knows the steps of custom types. */
export const CUSTOM = "custom";

/** A step as the rules see it. Its report's paths begin at the step. */
export type CheckedStep = Report & {
  /** Null when it has none that a rule could use. */
  id: string | null;
  /** Its canonical type, `custom` for one of the caller's own, null for none. */
  type: StepType | typeof CUSTOM | null;
  fields: Readonly<Record<string, unknown>>;
  index: number;
};

/** A document as the rules see it: anything, with what could be made out. */
export type Subject = Report & {
  document: Readonly<Record<string, unknown>>;
  registry: RegistryFields;
  declared: Declared;
  steps: readonly CheckedStep[];
  outline: Outline;
};

/** A registry's fields, whatever they are. */
export type RegistryFields = Readonly<Partial<Record<keyof RegistryDocument, unknown>>>;

/** Looks at one step. Must not throw, whatever the step is. */
export type StepRule = (step: CheckedStep, subject: Subject) => void;

/** Looks at a document as a whole. Must not throw, whatever it is. */
export type DocumentRule = (subject: Subject) => void;

/** What the rules are given of a document. */
export function subjectOf(
  document: Readonly<Record<string, unknown>>,
  customTypes: ReadonlySet<string>,
  violations: Violation[],
): Subject {
  const registry: RegistryFields = isRecord(document.registry) ? document.registry : {};
  return {
    ...reportTo(violations),
    document,
    registry,
    declared: declaredIn(registry),
    steps: itemsOf(document.steps).flatMap((step, index) =>
      isRecord(step) ? checkedStep(step, index, customTypes, violations) : [],
    ),
    outline: outlineOf(document),
  };
}

function checkedStep(
  fields: Readonly<Record<string, unknown>>,
  index: number,
  customTypes: ReadonlySet<string>,
  violations: Violation[],
): CheckedStep {
  const given = own(fields, "id");
  const id = typeof given === "string" && given !== "" ? given : null;
  const report = reportTo(violations, ["steps", index], id, id ?? `steps[${index}]`);
  return { ...report, id, type: typeOf(fields, id, customTypes), fields, index };
}

function typeOf(
  { type }: Readonly<Record<string, unknown>>,
  id: string | null,
  customTypes: ReadonlySet<string>,
): CheckedStep["type"] {
  if (id === null || (type !== undefined && typeof type !== "string")) return null;
  const name = type ?? id.split("_", 1)[0] ?? id;
  return getStepType({ id, type }) ?? (customTypes.has(name) ? CUSTOM : null);
}

/** A type in a sentence: "a Tool", "an LLM". */
export const aStep = (type: string): string => `${/^([AIOU]|LLM)/.test(type) ? "an" : "a"} ${type}`;

/** The keys and indexes that lead from the document to a value in it. */
export type ViolationPath = readonly (string | number)[];

/**
 * What is wrong with a document, or (a warning) may be meant otherwise. `message` is one line and begins
 * with the step's id where there is one; `path` leads from the document to it.
 */
export type Violation = {
  severity: "error" | "warning";
  stepID: string | null;
  path: (string | number)[];
  message: string;
};

/** Where violations are reported. */
export type Report = {
  error: (path: ViolationPath, text: string) => void;
  warning: (path: ViolationPath, text: string) => void;
};

const longest = 60;

/** A report that adds to `violations`. Its paths begin at `home`; `label` is what a message begins with. */
export function reportTo(
  violations: Violation[],
  home: ViolationPath = [],
  stepID: string | null = null,
  label: string | null = stepID,
): Report {
  const add = (severity: Violation["severity"], path: ViolationPath, text: string) => {
    const line = text.replace(/[\p{Cc}\u2028\u2029]/gu, "?");
    const message = label === null ? line : `${labelOf(label)}: ${line}`;
    violations.push({ severity, stepID, path: [...home, ...path], message });
  };
  return {
    error: (path, text) => add("error", path, text),
    warning: (path, text) => add("warning", path, text),
  };
}

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

function labelOf(label: string): string {
  const isPlain = label.length <= 200 && !/[\p{Cc}\u2028\u2029]/u.test(label);
  return isPlain ? label.toWellFormed() : quoted(label);
}

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

/** A value that has not its form, reported as "in must be an object, not 3". */
export type FormViolation = { path: ViolationPath; text: string };

/** All places where a value has not its form. `path` leads to the value. */
export function violationsOf(form: Form, value: unknown, path: ViolationPath): FormViolation[] {
  if (form.type === "array" && Array.isArray(value) && hasLength(form, value)) {
    return value.flatMap((item: unknown, index) =>
      violationsOf(form.prefixItems?.[index] ?? form.items ?? {}, item, [...path, index]),
    );
  }
  if (form.type === "object" && isRecord(value)) return misfitsOfObject(form, value, path);
  if (form.type === undefined && form.anyOf) return misfitsOfAny(form, form.anyOf, value, path);
  return fits(form, value) ? [] : [violation(form, value, path)];
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

// Of several forms the one of the value's own type says more than "must be this or that".
function misfitsOfAny(
  form: Form,
  forms: readonly Form[],
  value: unknown,
  path: ViolationPath,
): FormViolation[] {
  const found = forms.map((one) => violationsOf(one, value, path));
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

const violation = (form: Form, value: unknown, path: ViolationPath): FormViolation => ({
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

/** The names that a registry declares; `$` belongs to a variable's name. */
export type Declared = Readonly<
  Record<"params" | "vars" | "services" | "apis" | "components" | "schemas", ReadonlySet<string>>
>;

/**
 * What a registry declares, read as far as it goes: a declaration that is wrong has a name all the same,
 * so that its uses are no violations too.
 */
export function declaredIn(registry: Partial<Record<keyof RegistryDocument, unknown>>): Declared {
  const names = (list: unknown): ReadonlySet<string> => new Set(itemsOf(list).flatMap(nameIn));
  return {
    params: names(registry.params),
    vars: names(registry.vars),
    services: names(registry.services),
    apis: names(registry.apis),
    components: names(registry.components),
    schemas: new Set(isRecord(registry.schemas) ? Object.keys(registry.schemas) : []),
  };
}

/** The name of a declaration, of a signature, or of an object with an id. */
export function nameIn(declaration: unknown): string[] {
  const text = typeof declaration === "string" ? declaration : own(declaration, "id");
  const name = typeof text === "string" ? (text.split(/[(=]/, 1)[0] ?? "").trim() : "";
  return name === "" ? [] : [name];
}
