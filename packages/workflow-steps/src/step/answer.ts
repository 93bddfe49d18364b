import { parseExact } from "@uncaged/workflow/interpreter";
import type { ErrorObject, Options, ValidateFunction } from "ajv";
import type { OutputConfig } from "../adapter/adapter.ts";
import { isPlain } from "../expression/value.ts";
import type { Call } from "./call.ts";
import {
  answerNotJSON,
  answerNotObject,
  badSchema,
  missingSchema,
  outputConfigNotObject,
  schemaMismatch,
  twoSchemas,
  unknownOutputType,
  unknownSchema,
} from "./errors.ts";

/**
 * Returns the form that `output_config` requires of a model's answer, flat or nested in `format`. Includes the schema
 * that `schemaRef` names.
 */
export function formOf({ inputs, registry, step }: Call): OutputConfig | null {
  const config = inputs.output_config ?? null;
  if (config === null) return null;
  const flat = isPlain(config) && isPlain(config.format) ? config.format : config;
  if (!isPlain(flat)) throw outputConfigNotObject(step.id);
  const { schemaRef } = flat;
  let { schema } = flat;
  if (schemaRef !== undefined) {
    if (schema !== undefined) throw twoSchemas(step.id);
    const { schemas = {} } = registry;
    if (typeof schemaRef !== "string" || !Object.hasOwn(schemas, schemaRef)) {
      throw unknownSchema(step.id, schemaRef);
    }
    schema = schemas[schemaRef];
  }
  const { type = schema === undefined ? "text" : "json_schema" } = flat;
  if (type === "text" || type === "json_object") return { type };
  if (type !== "json_schema") throw unknownOutputType(step.id, type);
  if (!isPlain(schema)) throw missingSchema(step.id);
  return { type, schema, ...(typeof schemaRef === "string" && { schemaRef }) };
}

// Models sometimes wrap the whole answer in a code fence.
const fence = /^\s*```[\w-]*[^\S\n]*\n([\s\S]*?)\n?[^\S\n]*```\s*$/;

/** Returns a model's answer in the required form. An adapter may have parsed the JSON already. */
export async function formed(content: unknown, form: OutputConfig | null): Promise<unknown> {
  if (form === null || form.type === "text") return content;
  const value = typeof content === "string" ? parsed(content) : content;
  if (form.type === "json_schema" && form.schema) await checkSchema(value, form.schema);
  else if (typeof value !== "object" || value === null) {
    throw answerNotObject(start(content));
  }
  return value;
}

function parsed(text: string): unknown {
  try {
    return parseExact(fence.exec(text)?.[1] ?? text);
  } catch {
    throw answerNotJSON(start(text));
  }
}

const start = (content: unknown): string => {
  const text = typeof content === "string" ? content : (JSON.stringify(content) ?? "undefined");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

const mostViolations = 5;

async function checkSchema(value: unknown, schema: object): Promise<void> {
  const check = await compiled(schema);
  if (check(value)) return;
  const errors = check.errors ?? [];
  const texts = errors.slice(0, mostViolations).map(violation);
  if (errors.length > mostViolations) texts.push(`and ${errors.length - mostViolations} more`);
  throw schemaMismatch(texts);
}

function violation({ instancePath, message, params }: ErrorObject): string {
  const { additionalProperty: extra } = params as { additionalProperty?: string };
  if (extra !== undefined) return `${instancePath}/${extra}: must not be present`;
  return `${instancePath || "/"}: ${message}`;
}

/** The options that the core uses for a descriptor's schemas. The validator ignores unknown keywords and formats. */
const options: Options = {
  strict: false,
  validateFormats: false,
  addUsedSchema: false,
  logger: false,
  unicodeRegExp: true,
  ownProperties: true,
  allErrors: true,
};

/** Compiles a schema of draft 06, 07, 2019-09 or 2020-12 (the default). Loads the validator on first use. */
async function compiled(schema: object): Promise<ValidateFunction> {
  // With `$async` the validator would return a promise.
  const { $schema: draft, $async: _, ...rest } = schema as { $schema?: unknown; $async?: unknown };
  try {
    if (/draft-0[67]/.test(String(draft)))
      return new (await import("ajv")).Ajv(options).compile(rest);
    if (String(draft).includes("2019-09")) {
      return new (await import("ajv/dist/2019.js")).Ajv2019(options).compile(rest);
    }
    return new (await import("ajv/dist/2020.js")).Ajv2020(options).compile(rest);
  } catch (error) {
    throw badSchema(error);
  }
}
