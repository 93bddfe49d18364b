/** A JSON Schema as data; what is no object tells nothing. */
export type Schema = Readonly<Record<string, unknown>>;

type Kind = "text" | "long-text" | "number" | "integer" | "boolean" | "choice" | "json";

/** One control of a form. `name` is empty when the form is of a single value. */
export type FormField = {
  name: string;
  kind: Kind;
  label: string;
  hint: string | null;
  isRequired: boolean;
  /** The values of a choice. */
  choices: readonly unknown[];
  /** What the control holds first. */
  draft: Draft;
};

/** What a control holds: ticked or not, or a text. */
export type Draft = string | boolean;

/** What the controls of a form hold, by their fields' names. */
export type Drafts = Readonly<Record<string, Draft>>;

/** The controls for a schema: one for each property of an object, else one for the value. */
export function fieldsOf(schema: unknown): FormField[] {
  const whole = asSchema(schema);
  const properties = Object.entries(asSchema(whole.properties));
  if (properties.length === 0) return [fieldOf("", whole, true)];
  const required = Array.isArray(whole.required) ? whole.required : [];
  return properties.map(([name, one]) => fieldOf(name, asSchema(one), required.includes(name)));
}

/** What the fields hold at first. */
export const draftsOf = (fields: readonly FormField[]): Drafts =>
  Object.fromEntries(fields.map(({ name, draft }) => [name, draft]));

function fieldOf(name: string, schema: Schema, isRequired: boolean): FormField {
  const kind = kindOf(schema);
  const { title, description, default: begins } = schema;
  return {
    name,
    kind,
    label: typeof title === "string" && title !== "" ? title : name || "Value",
    hint: typeof description === "string" ? description : null,
    isRequired,
    choices: choicesOf(schema),
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
  return Array.isArray(schema.enum) ? schema.enum : [];
}

function draftOf(kind: Kind, begins: unknown): Draft {
  if (kind === "boolean") return begins === true;
  if (begins === undefined) return "";
  if (kind === "json" || kind === "choice") return JSON.stringify(begins, null, 2);
  return typeof begins === "string" ? begins : JSON.stringify(begins);
}

const asSchema = (value: unknown): Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
