import {
  type $ZodIssue,
  type $ZodObject,
  type $ZodType,
  type output,
  safeParseAsync,
  toJSONSchema,
} from "zod/v4/core";
import type { JsonSchema, WorkflowError } from "@uncaged/workflow";
import { array, nullable, object, string } from "zod/mini";
import { misuse } from "../run/error.ts";

/** A value that fits, or what does not, a line each. */
export type Checked<T> = { ok: true; value: T } | { ok: false; problems: string[] };

/** What a model has read out of a text: the fields, or which of them the text does not state. */
export type Reading = { missing: string[]; fields: unknown };

/** A role's schema in all that is made of it. */
export type Form<S extends $ZodObject = $ZodObject> = {
  /** Whether there is no field, so that every text will do. */
  empty: boolean;
  /** What a fitting value is, for people and for an agent. */
  schema: { [keyword: string]: unknown };
  /** What an {@link Extractor} must answer with: a {@link Reading}. */
  readingSchema: () => JsonSchema;
  check: (value: unknown) => Promise<Checked<output<S>>>;
};

/**
 * The form of a Zod schema. A fitting value has none of the `reserved` keys, also where the schema
 * lets unknown ones pass.
 *
 * @throws WorkflowError `BAD_SCHEMA` when it is no object's, or has no JSON Schema: a transform, a
 *   date, a function.
 */
export function formOf<S extends $ZodObject>(zod: S, reserved: readonly string[] = []): Form<S> {
  const def = (zod as Partial<S>)?._zod?.def;
  if (def?.type !== "object") throw badSchema("it is no object's schema: z.object({…})");
  const catchall = def.catchall?._zod.def.type ?? "never";
  return {
    empty: Object.keys(def.shape).length === 0 && catchall === "never",
    schema: rootOf(jsonSchemaOf(object({ root: zod }), "output")),
    readingSchema: () => jsonSchemaOf(readingOf(zod), "input"),
    check: async (value) => unreserved(checked(await safeParseAsync(zod, value)), reserved),
  };
}

/** Checks an extractor's answer; its `fields` are checked by the role's own form. */
export async function checkReading(value: unknown): Promise<Checked<Reading>> {
  const problems = ["the answer is not {missing: a list of names, fields: an object or null}"];
  if (typeof value !== "object" || value === null) return { ok: false, problems };
  const { missing, fields } = value as Partial<Reading>;
  const sound = Array.isArray(missing) && missing.every((name) => typeof name === "string");
  return sound ? { ok: true, value: { missing, fields } } : { ok: false, problems };
}

function readingOf(zod: $ZodType) {
  return object({ missing: array(string()), fields: nullable(zod) });
}

/** The schema of the one property, standing alone: whole, with its definitions beside it. */
function rootOf(wrapper: Record<string, unknown>): { [keyword: string]: unknown } {
  const {
    $schema,
    $defs = {},
    properties,
  } = wrapper as {
    $schema?: string;
    $defs?: Record<string, object>;
    properties: { root: { $ref?: string } };
  };
  const { root } = properties;
  const name = root.$ref?.replace("#/$defs/", "");
  const whole = name === undefined ? root : ($defs[name] ?? root);
  return { $schema, ...whole, ...(Object.keys($defs).length > 0 && { $defs }) };
}

function jsonSchemaOf(zod: $ZodType, io: "input" | "output"): Record<string, unknown> {
  try {
    return { ...toJSONSchema(zod, { io }) };
  } catch (cause) {
    // What is made of a value before it is checked has no schema of its own.
    if (io === "input") return jsonSchemaOf(zod, "output");
    throw badSchema(cause instanceof Error ? cause.message : String(cause));
  }
}

function unreserved<T extends object>(fit: Checked<T>, reserved: readonly string[]): Checked<T> {
  if (!fit.ok) return fit;
  const taken = reserved.filter((key) => Object.hasOwn(fit.value, key));
  if (taken.length === 0) return fit;
  return { ok: false, problems: taken.map((key) => `${key}: is a key of our own`) };
}

type Parsed<T> =
  | { success: true; data: T }
  | { success: false; error: { issues: readonly $ZodIssue[] } };

function checked<T>(result: Parsed<T>): Checked<T> {
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, problems: result.error.issues.slice(0, mostProblems).map(line) };
}

const mostProblems = 20;

function line({ path, message, code }: $ZodIssue): string {
  let at = "";
  for (const key of path)
    at += typeof key === "number" ? `[${key}]` : `${at ? "." : ""}${String(key)}`;
  const what = (message ?? code).replace(/\s+/g, " ").slice(0, 300);
  return at === "" ? what : `${at.slice(0, 200)}: ${what}`;
}

const badSchema = (why: string): WorkflowError =>
  misuse(
    "BAD_SCHEMA",
    `a role's schema can't be used: ${why}`,
    "use z.object with what JSON can hold: strings, numbers, booleans, lists, objects, enums, unions",
  );
