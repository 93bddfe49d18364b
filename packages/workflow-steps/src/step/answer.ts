import { type Schema, Validator } from "@cfworker/json-schema";
import type { OutputConfig } from "../adapter/adapter.ts";
import { LLMError, messageOf } from "../adapter/error.ts";
import { isPlain } from "../expression/value.ts";
import type { Call } from "./call.ts";

/**
 * The form that a model's answer must have, from `output_config`: flat, or nested in `format`. The
 * schema that `schemaRef` names is put in.
 */
export function formOf({ inputs, registry, step }: Call): OutputConfig | null {
  const config = inputs.output_config ?? null;
  if (config === null) return null;
  const flat = isPlain(config) && isPlain(config.format) ? config.format : config;
  const bad = (what: string) =>
    new LLMError("bad_request", `${step.id}: output_config ${what}`, { code: "BAD_OUTPUT_CONFIG" });
  if (!isPlain(flat)) throw bad("is no object");
  const { schemaRef } = flat;
  let { schema } = flat;
  if (schemaRef !== undefined) {
    if (schema !== undefined) throw bad("has a schema and a schemaRef");
    const { schemas = {} } = registry;
    if (typeof schemaRef !== "string" || !Object.hasOwn(schemas, schemaRef)) {
      throw bad(`names the schema ${JSON.stringify(schemaRef)}, which the registry does not have`);
    }
    schema = schemas[schemaRef];
  }
  const { type = schema === undefined ? "text" : "json_schema" } = flat;
  if (type === "text" || type === "json_object") return { type };
  if (type !== "json_schema") throw bad(`has the unknown type ${JSON.stringify(type)}`);
  if (!isPlain(schema)) throw bad("asks for a json_schema and has no schema");
  return { type, schema, ...(typeof schemaRef === "string" && { schemaRef }) };
}

// One fence around the whole answer: models put it there now and then.
const fence = /^\s*```[\w-]*[^\S\n]*\n([\s\S]*?)\n?[^\S\n]*```\s*$/;

/** A model's answer in the form that was asked for. An adapter may have read the JSON itself. */
export function formed(content: unknown, form: OutputConfig | null): unknown {
  if (form === null || form.type === "text") return content;
  const value = typeof content === "string" ? parsed(content) : content;
  if (form.type === "json_schema" && form.schema) checkSchema(value, form.schema);
  else if (typeof value !== "object" || value === null) {
    throw new LLMError("json_parse_error", `the answer is JSON, but no object: ${start(content)}`);
  }
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(fence.exec(text)?.[1] ?? text);
  } catch {
    throw new LLMError("json_parse_error", `the answer is no JSON: ${start(text)}`);
  }
}

const start = (content: unknown): string => {
  const text = typeof content === "string" ? content : (JSON.stringify(content) ?? "nothing");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

const mostViolations = 5;
const wrapping = new Set(["properties", "items", "prefixItems", "additionalProperties", "$ref"]);

function checkSchema(value: unknown, schema: object): void {
  const { errors } = validated(value, schema);
  if (errors.length === 0) return;
  // That something below is wrong is no information.
  const exact = errors.filter(({ keyword }) => !wrapping.has(keyword));
  const all = exact.length > 0 ? exact : errors;
  const texts = all
    .slice(0, mostViolations)
    .map(({ instanceLocation: at, error }) => `${at.replace(/^#/, "") || "/"}: ${error}`);
  if (all.length > mostViolations) texts.push(`and ${all.length - mostViolations} more`);
  const message = `the answer does not fit its schema: ${texts.join("; ")}`;
  throw new LLMError("schema_validation_error", message);
}

function validated(value: unknown, schema: object) {
  try {
    const draft = /draft-0?([47])/.exec(String((schema as Schema).$schema))?.[1] as "4" | "7";
    // The copy is marked by the validator, and the workflow's schema stays as it is.
    const copy = structuredClone(schema) as Schema;
    return new Validator(copy, draft ?? "2020-12", false).validate(value);
  } catch (error) {
    const message = `the schema of the answer can't be used: ${messageOf(error)}`;
    throw new LLMError("bad_request", message, { code: "BAD_SCHEMA" });
  }
}
