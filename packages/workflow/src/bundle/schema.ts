import type { Ajv, ErrorObject, Options } from "ajv";
import type { JsonSchema } from "../contract/contract.ts";
import { messageOf } from "../contract/error.ts";
import type { JsonPath } from "../contract/json.ts";
import { show } from "../contract/show.ts";

/** Returns the reason why a value does not fit the schema, on one line; null when it fits. */
export type Validate = (value: unknown) => string | null;

/** A compiled schema, or its problem: the path in the schema and a message. */
export type CompiledSchema = { validate: Validate } | { path: JsonPath; message: string };

// `strict: false` ignores unknown keywords, as JSON Schema requires. Formats are not checked.
const common: Options = {
  strict: false,
  validateFormats: false,
  addUsedSchema: false,
  logger: false,
  unicodeRegExp: true,
  // Otherwise inherited properties, such as `constructor`, count as properties of a value.
  ownProperties: true,
};

const drafts = {
  "draft-07": async (options: Options): Promise<Ajv> => new (await import("ajv")).Ajv(options),
  "2019-09": async (options: Options): Promise<Ajv> =>
    new (await import("ajv/dist/2019.js")).Ajv2019(options),
  "2020-12": async (options: Options): Promise<Ajv> =>
    new (await import("ajv/dist/2020.js")).Ajv2020(options),
};
type Draft = keyof typeof drafts;
const loaded = new Map<string, Promise<Ajv>>();

/**
 * Compiles a JSON Schema of draft 06, 07, 2019-09 or 2020-12, by its `$schema` (07 without `$schema`). The validator
 * reports the first reason why a value does not fit, or every reason with `all`. `name` is the value's name in a
 * reason. With `of`, the schema's name, a reason ends with the path of the violated keyword. Every `$ref` must point
 * into the schema itself.
 */
export async function compileSchema(
  schema: JsonSchema,
  { all = false, name = "value", of }: { all?: boolean; name?: string; of?: string } = {},
): Promise<CompiledSchema> {
  const named = typeof schema === "boolean" ? undefined : schema.$schema;
  const draft = draftOf(named);
  if (draft === null) {
    return {
      path: ["$schema"],
      message: "is not a supported draft (06, 07, 2019-09, 2020-12)",
    };
  }
  if (typeof schema === "object" && "$async" in schema) {
    return { path: ["$async"], message: "is not a JSON Schema keyword" };
  }
  const ajv = await loadDraft(draft, all);
  try {
    const check = ajv.compile(
      typeof schema === "boolean" ? schema : { ...schema, $schema: undefined },
    );
    return {
      validate: (value) =>
        check(value)
          ? null
          : (check.errors ?? []).map((error) => reason(error, name, of)).join("; "),
    };
  } catch (error) {
    return problemOf(ajv, error);
  }
}

function reason(error: ErrorObject, name: string, of: string | undefined): string {
  const { instancePath, schemaPath, params } = error;
  const { additionalProperty: extra } = params as { additionalProperty?: string };
  const text = `${name}${instancePath} ${problemIn(error)}`;
  const which = extra === undefined ? text : `${text}: ${show(extra)}`;
  return of === undefined ? which : `${which} (${of}${schemaPath})`;
}

const mostAllowed = 10;

/** Returns the message of an error, with the allowed values, which ajv's message omits. */
function problemIn({ keyword, message = "", params }: ErrorObject): string {
  const { allowedValue, allowedValues } = params as {
    allowedValue?: unknown;
    allowedValues?: unknown[];
  };
  if (keyword === "const") return `must be ${JSON.stringify(allowedValue)}`;
  if (keyword !== "enum" || allowedValues === undefined) return message;
  const values = allowedValues.slice(0, mostAllowed).map((value) => JSON.stringify(value));
  const others = allowedValues.length - values.length;
  if (others > 0) values.push(`${others} others`);
  const last = values.pop() ?? "";
  return `must be ${values.length === 0 ? last : `${values.join(", ")} or ${last}`}`;
}

function draftOf(named: unknown): Draft | null {
  if (named === undefined) return "draft-07";
  if (typeof named !== "string") return null;
  if (/^https?:\/\/json-schema\.org\/(draft-0[67]\/)?schema#?$/.test(named)) return "draft-07";
  const year = /^https?:\/\/json-schema\.org\/draft\/(2019-09|2020-12)\/schema#?$/.exec(named)?.[1];
  return year === "2019-09" || year === "2020-12" ? year : null;
}

function loadDraft(draft: Draft, allErrors: boolean): Promise<Ajv> {
  const key = `${draft} ${allErrors}`;
  const loading = loaded.get(key) ?? drafts[draft]({ ...common, allErrors });
  loaded.set(key, loading);
  return loading;
}

function problemOf(ajv: Ajv, error: unknown): { path: JsonPath; message: string } {
  const first = ajv.errors?.[0];
  if (first && messageOf(error).startsWith("schema is invalid")) {
    return {
      path: keysOf(first.instancePath),
      message: problemIn(first) || "is not a JSON Schema",
    };
  }
  return { path: [], message: `does not compile: ${messageOf(error)}` };
}

/** Parses a JSON pointer (RFC 6901). */
const keysOf = (pointer: string) =>
  pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));

/** Compiles the answer schema of a `__wait__` step, or returns its problem. */
export async function compileForAnswer(
  schema: JsonSchema,
): Promise<{ validate: Validate } | { problem: string }> {
  const compiled = await compileSchema(schema);
  if ("validate" in compiled) return compiled;
  return { problem: `${compiled.path.join(".") || "it"} ${compiled.message}` };
}
