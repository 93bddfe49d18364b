import type { showVersion } from "@uncaged/workflow/host";
import { documentsIn, parseParamDeclaration } from "@uncaged/workflow-steps";

type Schema = boolean | Record<string, unknown>;

/** What a form that starts a thread of a version must ask for: its input; of a step workflow its params. */
export function formOf(version: Awaited<ReturnType<typeof showVersion>>) {
  const { workflow, hash, descriptor } = version;
  const { description = "", input } = (descriptor ?? {}) as {
    description?: string;
    input?: unknown;
  };
  return { workflow, hash, description, input: schemaOf(input) ?? paramsOf(descriptor ?? {}) };
}

const schemaOf = (input: unknown): Schema | null =>
  typeof input === "boolean" || (typeof input === "object" && input !== null)
    ? (input as Schema)
    : null;

function paramsOf(descriptor: object): Schema | null {
  const params = documentsIn(descriptor)?.document?.registry.params ?? [];
  if (params.length === 0) return null;
  const declared = params.map(parseParamDeclaration);
  return {
    type: "object",
    properties: Object.fromEntries(
      declared.map(({ name, type, ...rest }) => [name, { ...schemas[type], ...rest }]),
    ),
    required: declared.filter((one) => !("default" in one)).map(({ name }) => name),
    additionalProperties: false,
  };
}

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
