import type { JsonSchema } from "../contract/contract.ts";
import { isRecord } from "../contract/show.ts";

const deepest = 4;

/** Returns an example of a value that fits a simple schema; undefined for any other schema. */
export function exampleOf(schema: JsonSchema | undefined, depth = 0): unknown {
  if (!isRecord(schema) || depth > deepest) return undefined;
  const { type, const: only, enum: values, default: usual, examples } = schema;
  const given = [usual, only, ...listOf(examples), ...listOf(values)];
  const first = given.find((one) => one !== undefined);
  if (first !== undefined) return first;
  switch ([type].flat()[0]) {
    case "boolean":
      return true;
    case "integer":
    case "number":
      return typeof schema.minimum === "number" ? schema.minimum : 1;
    case "string":
      return "text";
    case "array": {
      const item = exampleOf(schema.items as JsonSchema | undefined, depth + 1);
      return item === undefined ? [] : [item];
    }
    case "object":
      return exampleObject(schema, depth);
    default:
      return undefined;
  }
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/**
 * Returns an object with the required properties, or with all properties if none is required; undefined if one of them
 * has no example.
 */
function exampleObject(schema: Record<string, unknown>, depth: number): unknown {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required = listOf(schema.required).map(String);
  const names = required.length > 0 ? required : Object.keys(properties);
  const entries = names.map((name) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return [name, exampleOf(property as JsonSchema | undefined, depth + 1)] as const;
  });
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries);
}
