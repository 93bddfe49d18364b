import { roundedIn } from "@uncaged/workflow/interpreter";
import type { JsonSchema } from "@uncaged/workflow";
import * as z from "zod/mini";
import { type Form, quoted } from "./form.ts";
import type { RegistryDocument } from "./format.ts";
import { copyOf, isPlain } from "../expression/value.ts";
import { badDeclaration, badParams } from "./errors.ts";

/**
 * The parsed registry of a step workflow. The constructor throws a `WorkflowError` (`DECLARATION_INVALID`) for the
 * first invalid declaration; `validate` reports all of them.
 */
export class Registry {
  readonly params: readonly Declaration[];
  readonly vars: readonly Declaration[];
  readonly services: readonly ServiceSignature[];

  constructor({ params = [], vars = [], services = [] }: RegistryDocument) {
    this.params = params.map(parseParamDeclaration);
    this.vars = vars.map(parseVariableDeclaration);
    this.services = services.map(parseServiceSignature);
  }

  /**
   * Returns the initial params of a run: a copy of the given params, with defaults for missing params. Throws a
   * `WorkflowError` (`PARAMS_INVALID`) that names all missing, mistyped and undeclared params.
   */
  startParams(given: unknown): Record<string, unknown> {
    return this.#checkedParams(given, problemOf);
  }

  /**
   * Returns params like `startParams`, for a run that begins in the middle: missing params without a default are null.
   */
  someParams(given: unknown): Record<string, unknown> {
    return this.#checkedParams(given, (declaration, params) =>
      (params[declaration.name] ?? null) === null ? null : problemOf(declaration, params),
    );
  }

  #checkedParams(given: unknown = {}, check: typeof problemOf): Record<string, unknown> {
    if (!isPlain(given)) throw this.#invalid([`params must be an object, not ${kindOf(given)}`]);
    // Ignore inherited properties.
    const params: Record<string, unknown> = Object.assign(Object.create(null), given);
    const problems = [
      ...this.params.flatMap((declaration) => check(declaration, params) ?? []),
      ...Object.keys(given)
        .filter((name) => !this.params.some((declaration) => declaration.name === name))
        .map((name) => `${/^\w{1,40}$/.test(name) ? name : quoted(name)} is not declared`),
    ];
    if (problems.length > 0) throw this.#invalid(problems);
    return Object.fromEntries(
      this.params.map(({ name, default: missing }) => {
        const value = params[name] === undefined ? missing : params[name];
        return [name, copyOf(value ?? null)];
      }),
    );
  }

  #invalid(problems: string[]) {
    const all = this.params.map(({ name, type }) => `${name} (${type})`).join(", ");
    return badParams(problems, all);
  }

  /** Returns the initial variables of a run: a copy of each default, or null. */
  initialVariables(): Record<string, unknown> {
    return Object.fromEntries(
      this.vars.map(({ name, default: value }) => [name, copyOf(value ?? null)]),
    );
  }

  paramTypes(): Record<string, string> {
    return typesOf(this.params);
  }

  varTypes(): Record<string, string> {
    return typesOf(this.vars);
  }

  /** Returns the JSON Schema of a whole variable, from its declared type; undefined for other targets. */
  formOf(target: string): JsonSchema | undefined {
    const type = this.vars.find(({ name }) => name === target.trim())?.type;
    return type !== undefined && isKnownType(type) ? { ...valueTypes[type]?.schema } : undefined;
  }
}

const typesOf = (declarations: readonly Declaration[]): Record<string, string> =>
  Object.fromEntries(declarations.map(({ name, type }) => [name, type]));

function problemOf(declaration: Declaration, params: Record<string, unknown>): string | null {
  const { name, type } = declaration;
  const value = params[name];
  if (value === undefined) return "default" in declaration ? null : `${name} (${type}) is missing`;
  return isOfType(value, type) ? null : `${name} must be ${type}, not ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return `the number ${value}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Returns the JSON Schema of a run's params, from their declarations. */
export function inputSchema(declarations: readonly string[]): JsonSchema {
  const declared = declarations.map(parseParamDeclaration);
  return {
    type: "object",
    properties: Object.fromEntries(
      declared.map(({ name, type, ...rest }) => [
        name,
        { ...(isKnownType(type) && valueTypes[type]?.schema), ...rest },
      ]),
    ),
    required: declared.filter((one) => !("default" in one)).map(({ name }) => name),
    additionalProperties: false,
  };
}

/** A declared param or variable. A variable's name begins with `$`. */
export type Declaration = { name: string; type: string; default?: unknown };

const form = /^\s*(\$?[\p{ID_Start}_][$\p{ID_Continue}]*)\s*\(([^()]*)\)\s*(?:=([^]*))?$/u;
const unreadable: ReadonlySet<string> = new Set([
  ...["true", "false", "null"],
  ...["SYSVAR", "__proto__"],
]);

/**
 * Reads the declaration of a param: `goal(STRING)`, `n(INT) = 3`. The type is case-insensitive. A default is JSON or
 * bare text; a param without a default is required.
 *
 * This parser and the parsers of variables and services throw a `WorkflowError` (`DECLARATION_INVALID`) that quotes the
 * declaration.
 */
export function parseParamDeclaration(text: string): Declaration {
  const declaration = declarationIn(text, 'write "name(TYPE)" or "name(TYPE) = default"');
  const { name } = declaration;
  if (name.startsWith("$")) {
    throw badDeclaration(text, "the name of a param must not begin with $", 'write "name(TYPE)"');
  }
  // Names that begin with _ are reserved for locals.
  if (!unreadable.has(name) && !name.startsWith("_")) return declaration;
  throw badDeclaration(text, `the name ${name} is reserved`, "choose another name");
}

/** Reads the declaration of a variable: `$plan(OBJECT)`, `$n(INT) = 0`. The name keeps its `$`. */
export function parseVariableDeclaration(text: string): Declaration {
  const declaration = declarationIn(text, 'write "$name(TYPE)" or "$name(TYPE) = default"');
  if (declaration.name.startsWith("$")) return declaration;
  throw badDeclaration(text, "the name of a variable must begin with $", 'write "$name(TYPE)"');
}

function declarationIn(text: string, hint: string): Declaration {
  const found = typeof text === "string" ? form.exec(text) : null;
  const [, name, written, value] = found ?? [];
  if (!name || written === undefined) throw badDeclaration(text, "missing name or type", hint);
  const type = canonicalType(written);
  if (type === "") throw badDeclaration(text, "the type is empty", hint);
  if (value === undefined) return { name, type };
  const given = defaultOf(value.trim(), type);
  if (given === null || isOfType(given, type)) return { name, type, default: given };
  const rounded = roundedIn(value);
  if (rounded && !isOfType("", type)) {
    const wanted = "give a smaller number, or declare a STRING";
    throw badDeclaration(text, `the number ${rounded.text} can't be kept exactly`, wanted);
  }
  const wanted = "give a default of the type, as JSON";
  throw badDeclaration(text, `invalid default for ${type}`, wanted);
}

/** Parses a default. A text needs no quotes. */
function defaultOf(text: string, type: string): unknown {
  try {
    if (roundedIn(text)) return text;
    const value = JSON.parse(text) as unknown;
    return value === null || valueTypes[type]?.schema.type !== "string" || typeof value === "string"
      ? value
      : text;
  } catch {
    return text;
  }
}

export type ServiceSignature = {
  name: string;
  params: Pick<Declaration, "name" | "type">[];
  returns: Pick<Declaration, "name" | "type">[];
};

const items = String.raw`(?:[^()]|\([^()]*\))*`;
const signature = new RegExp(
  String.raw`^\s*([\p{ID_Continue}]+)\s*\((${items})(\)?)\s*(?:RETURN\s+(${items}))?([^]*)$`,
  "iu",
);
const item = /^\s*([\p{ID_Start}_][\p{ID_Continue}]*)\s*\(([^()]*)\)\s*$/u;

/**
 * Reads the signature of a service: `Name(p(T), q(T)) RETURN r(T)`. A service may return no value or several values.
 */
export function parseServiceSignature(text: string): ServiceSignature {
  const refused = (message: string) =>
    badDeclaration(text, message, 'write "Name(a(TYPE), b(TYPE)) RETURN r(TYPE)"');
  if (typeof text !== "string") throw refused("not a string");
  const [, name, params = "", close, returns, rest] = signature.exec(text) ?? [];
  if (name === undefined) throw refused('missing name or "("');
  if (!close) throw refused('missing closing ")"');
  if (rest) throw refused("unexpected text after the signature");
  const read = (list: string) =>
    list.split(/,(?![^(]*\))/).map((one) => {
      const [, itemName, type] = item.exec(one) ?? [];
      if (itemName !== undefined && type !== undefined) {
        return { name: itemName, type: canonicalType(type) };
      }
      throw refused("missing name with its (TYPE)");
    });
  return {
    name,
    params: params.trim() === "" ? [] : read(params),
    returns: returns === undefined ? [] : read(returns),
  };
}

type ValueType = { form: Form; schema: { type: string; [keyword: string]: unknown } };
const aText = z.string();
const anObject = z.record(z.string(), z.unknown());
const list = (each: Form, schema: object): ValueType => ({
  form: z.array(each),
  schema: { type: "array", ...schema },
});

/** The types of values, each with its validator and JSON Schema. */
const valueTypes: Readonly<Record<string, ValueType>> = {
  STRING: { form: aText, schema: { type: "string" } },
  FILE_REF: { form: aText, schema: { type: "string", description: "a file" } },
  INT: { form: z.int(), schema: { type: "integer" } },
  BOOL: { form: z.boolean(), schema: { type: "boolean" } },
  OBJECT: { form: anObject, schema: { type: "object" } },
  ARRAY: list(z.unknown(), {}),
  "[OBJECT]": list(anObject, { items: { type: "object" } }),
  "[STRING]": list(aText, { items: { type: "string" } }),
};

/** Returns whether a type is known. The engine does not check values of unknown types. */
export const isKnownType = (type: string): boolean => Object.hasOwn(valueTypes, type);

/** Returns a known type in capitals, and any other type unchanged. */
function canonicalType(text: string): string {
  const type = text.replace(/\s+/g, "").toUpperCase();
  return isKnownType(type) ? type : text.trim();
}

/** Returns whether a value has a type. Always true for an unknown type. */
const isOfType = (value: unknown, type: string): boolean =>
  !isKnownType(type) || z.safeParse(valueTypes[type]?.form ?? z.unknown(), value).success;
