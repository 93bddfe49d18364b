import type { DocumentPath } from "@uncaged/workflow/editing";
import { isRecord } from "../../lib/json.ts";
import { asSchema, fieldOf, type FormField, type Schema } from "../../lib/schema.ts";

export type Control =
  | { kind: "group"; names: readonly string[]; required: ReadonlySet<string> }
  | { kind: "list"; items: Schema }
  | { kind: "map"; values: Schema }
  | { kind: "field"; field: FormField };

/** A schema with its `$ref` resolved in the root schema. */
export function resolved(schema: unknown, root: Schema): Schema {
  let own = asSchema(schema);
  for (let depth = 0; depth < 20 && typeof own.$ref === "string"; depth += 1) {
    const names = own.$ref.replace(/^#\/?/, "").split("/").filter(Boolean);
    const target = names.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), root);
    const { $ref: _, ...rest } = own;
    own = { ...asSchema(target), ...rest };
  }
  return own;
}

export function controlOf(name: string, schema: Schema, isRequired: boolean): Control {
  const field = fieldOf(name, schema, isRequired);
  if (field.kind !== "json") return { kind: "field", field };
  const names = Object.keys(asSchema(schema.properties));
  if (names.length > 0) {
    const required = Array.isArray(schema.required) ? schema.required : [];
    return { kind: "group", names, required: new Set(required.map(String)) };
  }
  if (isRecord(schema.items)) return { kind: "list", items: schema.items };
  if (isRecord(schema.additionalProperties)) {
    return { kind: "map", values: schema.additionalProperties };
  }
  return { kind: "field", field };
}

/** Suggestions for a text: the examples of its schema. */
export const suggestionsOf = ({ examples }: Schema): string[] => [
  ...new Set((Array.isArray(examples) ? examples : []).filter((one) => typeof one === "string")),
];

/** The initial value of a schema. */
export function beginning(declared: unknown, root: Schema): unknown {
  const schema = resolved(declared, root);
  if ("default" in schema) return schema.default;
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const properties = asSchema(schema.properties);
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  switch (schema.type) {
    case "object":
      return Object.fromEntries(required.map((name) => [name, beginning(properties[name], root)]));
    case "array":
      return [];
    case "number":
    case "integer":
      return 0;
    case "boolean":
      return false;
    default:
      return "";
  }
}

export const dotted = (path: DocumentPath): string =>
  path.filter((key) => typeof key === "string").join(".");

/** Tells whether a field is named in the list or nested in a named field. */
export const isAmong = (path: DocumentPath, names: readonly string[]): boolean => {
  const own = dotted(path);
  return names.some((name) => own === name || own.startsWith(`${name}.`));
};
