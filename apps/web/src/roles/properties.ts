import { isRecord, ownIn } from "../schema/json.ts";

/** A field of an object that a schema tells of. */
export type Property = {
  name: string;
  /** In a word or two: `text`, `list of text`, `one of "a", "b"`. */
  type: string;
  isRequired: boolean;
  description: string | null;
};

/** The fields of a schema's object; none when it tells of no fields. */
export function propertiesOf(schema: unknown): Property[] {
  if (!isRecord(schema) || !isRecord(schema.properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties).map(([name, one]) => ({
    name,
    type: typeName(one),
    isRequired: required.includes(name),
    description: isRecord(one) && typeof one.description === "string" ? one.description : null,
  }));
}

const names: Readonly<Record<string, string>> = {
  string: "text",
  integer: "whole number",
  boolean: "true or false",
  array: "list",
};

function typeName(schema: unknown): string {
  if (!isRecord(schema)) return "anything";
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) {
    return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(", ")}`;
  }
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives)) return alternatives.map(typeName).join(" or ");
  if (schema.type === "array" && schema.items !== undefined) {
    return `list of ${typeName(schema.items)}`;
  }
  if (typeof schema.$ref === "string") return schema.$ref.replace(/^.*\//, "");
  const types = [schema.type].flat().filter((type) => typeof type === "string");
  return types.map((type) => ownIn(names, type) ?? type).join(" or ") || "anything";
}
