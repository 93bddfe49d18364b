import { isRounded } from "@uncaged/workflow/records";
import { inexact, isRecord, readJson } from "./json.ts";
import { ownIn } from "./own.ts";

/** A JSON Schema. Functions treat other values as the empty schema. */
export type Schema = Readonly<Record<string, unknown>>;

type Kind = "text" | "long-text" | "number" | "integer" | "boolean" | "choice" | "json";

/** A control of a form. `name` is empty in a form of a single value. */
export type FormField = {
  name: string;
  kind: Kind;
  label: string;
  hint: string | null;
  isRequired: boolean;
  /** Whether an empty control means null. */
  isNullable: boolean;
  choices: readonly unknown[];
  /** The initial value of the control. */
  draft: Draft;
};

/** The value of a control: a check mark or a text. */
export type Draft = string | boolean;

export type Drafts = Readonly<Record<string, Draft>>;

/** The controls of a schema: one for each property of an object, otherwise a single control. */
export function fieldsOf(schema: unknown): FormField[] {
  const whole = asSchema(schema);
  const properties = Object.entries(asSchema(whole.properties));
  if (properties.length === 0) return [fieldOf("", whole, true)];
  const required = Array.isArray(whole.required) ? whole.required : [];
  return properties.map(([name, one]) => fieldOf(name, asSchema(one), required.includes(name)));
}

/** The controls with initial values from a value. */
export const filledWith = (fields: readonly FormField[], value: unknown): readonly FormField[] =>
  fields.map((field) => {
    const begins =
      field.name === "" ? value : isRecord(value) ? ownIn(value, field.name) : undefined;
    return begins === undefined ? field : { ...field, draft: draftOf(field.kind, begins) };
  });

/** The control of one value. */
export function fieldOf(name: string, declared: Schema, mustBeThere: boolean): FormField {
  const schema = { ...onlyAlternative(declared), ...declared };
  const kind = kindOf(schema);
  const choices = choicesOf(schema);
  const mayBeNull = kind !== "json" && allowsNull(declared);
  const { title, description, default: begins } = schema;
  return {
    name,
    kind,
    label: typeof title === "string" && title !== "" ? title : name || "Value",
    hint: typeof description === "string" ? description : null,
    isRequired: mustBeThere && !mayBeNull,
    isNullable: mustBeThere && mayBeNull,
    choices,
    draft: draftOf(kind, begins),
  };
}

function kindOf(schema: Schema): Kind {
  if (choicesOf(schema).length > 0) return "choice";
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  switch (type) {
    case "string":
      return isLong(schema) ? "long-text" : "text";
    case "number":
    case "integer":
    case "boolean":
      return type;
    default:
      return "json";
  }
}

const isLong = ({ maxLength, format }: Schema): boolean =>
  format === "multiline" || (typeof maxLength === "number" && maxLength > 200);

function choicesOf(schema: Schema): readonly unknown[] {
  if ("const" in schema) return [schema.const];
  if (Array.isArray(schema.enum)) return schema.enum;
  const all = alternativesOf(schema);
  const consts = all.filter((one) => "const" in one || isNull(one));
  return consts.length === all.length ? all.map((one) => one.const ?? null) : [];
}

const alternativesOf = ({ anyOf, oneOf }: Schema): Schema[] => {
  const all = anyOf ?? oneOf;
  return Array.isArray(all) ? all.map(asSchema) : [];
};

const isNull = ({ type }: Schema): boolean => type === "null";

const allowsNull = (schema: Schema): boolean =>
  [schema.type].flat().includes("null") || alternativesOf(schema).some(isNull);

/** The schema of a nullable value in its usual notation; undefined with several alternatives. */
function onlyAlternative(schema: Schema): Schema {
  const all = alternativesOf(schema);
  const [only, ...others] = all.filter((one) => !isNull(one));
  return only && others.length === 0 && all.length > 1 ? only : {};
}

/** The content of a control for a value. */
export function draftOf(kind: Kind, begins: unknown): Draft {
  if (kind === "boolean") return begins === true;
  if (begins === undefined) return "";
  if (kind === "json") return JSON.stringify(begins, null, 2);
  if (kind === "choice") return JSON.stringify(begins);
  if (begins === null) return "";
  return typeof begins === "string" ? begins : JSON.stringify(begins);
}

/** A schema; the empty schema for other values. */
export const asSchema = (value: unknown): Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};

type FormAnswer = { value: unknown; problems: Readonly<Record<string, string>> };

type One = { value?: unknown; problem?: string };

/**
 * The value of a form. Empty optional fields are left out. Checks only the controls; the receiver validates
 * the schema.
 */
export function answerOf(fields: readonly FormField[], drafts: Drafts): FormAnswer {
  const problems: [string, string][] = [];
  const values: [string, unknown][] = [];
  for (const field of fields) {
    const { value, problem } = valueOf(field, ownIn(drafts, field.name) ?? field.draft);
    if (problem !== undefined) problems.push([field.name, problem]);
    else if (value !== undefined) values.push([field.name, value]);
  }
  const isSingle = fields.length === 1 && fields[0]?.name === "";
  return {
    value: isSingle ? values[0]?.[1] : Object.fromEntries(values),
    problems: Object.fromEntries(problems),
  };
}

/** The value of a control, or its problem. */
export function valueOf({ kind, isRequired, isNullable }: FormField, draft: Draft): One {
  if (typeof draft === "boolean") return { value: draft };
  if (draft.trim() === "") {
    if (isRequired) return { problem: "This must be filled in." };
    return isNullable ? { value: null } : {};
  }
  switch (kind) {
    case "number":
    case "integer":
      return numberOf(draft, kind === "integer");
    case "choice":
    case "json": {
      const { value, problem } = readJson(draft);
      return problem === null ? { value } : { problem };
    }
    default:
      return { value: draft };
  }
}

function numberOf(draft: string, isWhole: boolean): One {
  const value = Number(draft);
  if (!Number.isFinite(value)) return { problem: "This must be a number." };
  if (isWhole && !Number.isInteger(value)) return { problem: "This must be a whole number." };
  if (isRounded(draft.trim())) return { problem: inexact(draft.trim()) };
  return { value };
}
