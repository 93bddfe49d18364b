import {
  type $ZodIssue,
  type $ZodObject,
  type $ZodType,
  type $ZodTypes,
  type output,
  safeParse,
  safeParseAsync,
  toJSONSchema,
} from "zod/v4/core";
import type { JsonSchema } from "@uncaged/workflow";
import { array, nullable, object, string } from "zod/mini";
import { badSchema } from "./errors.ts";

/** A valid value, or the problems. */
export type Checked<T> = { ok: true; value: T } | { ok: false; problems: string[] };

export type Form<S extends $ZodObject = $ZodObject> = {
  /** Whether the schema has no fields, so that any text fits. */
  empty: boolean;
  schema: { [keyword: string]: unknown };
  /** The schema of an extractor's answer: `{missing, fields}`. */
  readingSchema: () => JsonSchema;
  check: (value: unknown) => Promise<Checked<output<S>>>;
};

const mostProblems = 20;

/**
 * Returns the JSON Schemas and the check of a Zod schema.
 * @throws WorkflowError `BAD_SCHEMA` for a schema that is not an object schema, or cannot be a JSON Schema, such as a
 *   transform or a date.
 */
export function formOf<S extends $ZodObject>(zod: S, reserved: readonly string[] = []): Form<S> {
  const def = (zod as Partial<S>)?._zod?.def;
  if (def?.type !== "object") throw badSchema("it is not an object's schema: z.object({…})");
  const catchall = def.catchall?._zod.def.type ?? "never";
  return {
    empty: Object.keys(def.shape).length === 0 && catchall === "never",
    schema: rootOf(jsonSchemaOf(object({ root: zod }), "output")),
    readingSchema: () =>
      jsonSchemaOf(object({ missing: array(string()), fields: nullable(zod) }), "input"),
    async check(value) {
      const { success, data, error } = await safeParseAsync(zod, value);
      if (!success) return { ok: false, problems: error.issues.slice(0, mostProblems).map(line) };
      const taken = reserved.filter((key) => Object.hasOwn(data, key));
      if (taken.length === 0) return { ok: true, value: data };
      return { ok: false, problems: taken.map((key) => `${key}: is a reserved key`) };
    },
  };
}

/** Returns the schema of a wrapper's only property, including the schema's definitions. */
function rootOf(wrapper: Record<string, unknown>): { [keyword: string]: unknown } {
  const { $schema, $defs, properties } = wrapper as {
    $schema?: string;
    $defs?: Record<string, object>;
    properties: { root: { $ref?: string } };
  };
  const { root } = properties;
  const whole = $defs?.[root.$ref?.replace("#/$defs/", "") ?? ""] ?? root;
  return { $schema, ...whole, ...($defs && { $defs }) };
}

function jsonSchemaOf(zod: $ZodType, io: "input" | "output"): Record<string, unknown> {
  try {
    return { ...toJSONSchema(zod, { io, override: withoutUndefined }) };
  } catch (cause) {
    // The input of a preprocessed schema has no JSON Schema.
    if (io === "input") return jsonSchemaOf(zod, "output");
    throw badSchema(cause instanceof Error ? cause.message : String(cause));
  }
}

/**
 * Makes fields optional that have the value undefined if they are omitted, such as `z.union([z.unknown(),
 * z.string().default("")])`.
 */
function withoutUndefined({
  zodSchema: { _zod: zod },
  jsonSchema,
}: {
  zodSchema: $ZodTypes;
  jsonSchema: { required?: string[] };
}): void {
  if (zod.def.type !== "object" || !jsonSchema.required) return;
  const { shape } = zod.def;
  const required = jsonSchema.required.filter((key) => !mayBeUndefined(shape[key]));
  if (required.length > 0) jsonSchema.required = required;
  else delete jsonSchema.required;
}

function mayBeUndefined(field: $ZodType | undefined): boolean {
  if (field?._zod.optin === undefined) return false;
  try {
    const { success, data } = safeParse(field, undefined);
    return success && data === undefined;
  } catch {
    return false; // The check is asynchronous, so its result is unknown here.
  }
}

function line({ path, message, code }: $ZodIssue): string {
  const at = path.reduce<string>((before, key) => {
    return typeof key === "number"
      ? `${before}[${key}]`
      : `${before && `${before}.`}${String(key)}`;
  }, "");
  const what = (message ?? code).replace(/\s+/g, " ").slice(0, 300);
  return at === "" ? what : `${at.slice(0, 200)}: ${what}`;
}
