import type { JsonSchema } from "@uncaged/workflow";
import { parseParamDeclaration } from "./declaration.ts";

/** The types that values are checked against; a value of any other type may be anything. */
const schemas: Readonly<Record<string, Record<string, unknown>>> = {
  STRING: { type: "string" },
  FILE_REF: { type: "string", description: "a file" },
  INT: { type: "integer" },
  BOOL: { type: "boolean" },
  OBJECT: { type: "object" },
  ARRAY: { type: "array" },
  "[OBJECT]": { type: "array", items: { type: "object" } },
  "[STRING]": { type: "array", items: { type: "string" } },
};

/** What the params of a run must be, as a JSON Schema, from their declarations. */
export function inputSchema(declarations: readonly string[]): JsonSchema {
  const declared = declarations.map(parseParamDeclaration);
  return {
    type: "object",
    properties: Object.fromEntries(
      declared.map(({ name, type, ...rest }) => [name, { ...schemas[type], ...rest }]),
    ),
    required: declared.filter((one) => !("default" in one)).map(({ name }) => name),
    additionalProperties: false,
  };
}
