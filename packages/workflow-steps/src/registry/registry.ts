import type { JsonSchema } from "@uncaged/workflow";
import { failure } from "../document/document.ts";
import type { ApiDocument, RegistryDocument } from "../document/format.ts";
import { copyOf, isPlain } from "../expression/value.ts";
import {
  type Declaration,
  isOfType,
  parseParamDeclaration,
  parseServiceSignature,
  parseVariableDeclaration,
  type ServiceSignature,
} from "./declaration.ts";

/** A component as the registry names it: its id, and whatever else it has. */
type ComponentDocument = { id: string; [field: string]: unknown };

/**
 * What the registry of a step workflow declares, read. Its methods give undefined for what is not
 * declared. The constructor throws a `WorkflowError` (`DECLARATION_INVALID`) for the first declaration
 * that can't be read; the validator names them all.
 */
export class Registry {
  readonly params: readonly Declaration[];
  readonly vars: readonly Declaration[];
  readonly services: readonly ServiceSignature[];
  readonly #document: RegistryDocument;

  constructor(document: RegistryDocument) {
    this.#document = document;
    this.params = (document.params ?? []).map(parseParamDeclaration);
    this.vars = (document.vars ?? []).map(parseVariableDeclaration);
    this.services = (document.services ?? []).map(parseServiceSignature);
  }

  /** The endpoint of a step's id (`API_<id>`), or of an id. */
  api(id: string): ApiDocument | undefined {
    return byId(this.#document.apis ?? [], id, "API_");
  }

  /** The component of a step's id (`Component_<id>`), or of an id. */
  component(id: string): ComponentDocument | undefined {
    const all = (this.#document.components ?? []).map((component) =>
      typeof component === "string" ? { id: component } : component,
    );
    return byId(all, id, "Component_");
  }

  /** The JSON Schema of an id, as a `schemaRef` names it. */
  schema(id: string): unknown {
    return ownOf(this.#document.schemas, id);
  }

  /** The title of a document. */
  doc(id: string | number): string | undefined {
    return ownOf(this.#document.docs, String(id));
  }

  /**
   * The params that a run starts with: a copy of those given, with the defaults of the others. Throws a
   * `WorkflowError` (`PARAMS_INVALID`) that names all that are missing, wrong or not declared.
   */
  startParams(given: unknown): Record<string, unknown> {
    return startParams(this.params, given);
  }

  /**
   * The same for a run that begins in its middle: what is missing and has no default is null. Throws as
   * {@link Registry.startParams} for what is given.
   */
  someParams(given: unknown): Record<string, unknown> {
    return startParams(this.params, given, true);
  }

  /** The variables that a run starts with: a copy of the default, else null. */
  initialVariables(): Record<string, unknown> {
    return Object.fromEntries(
      this.vars.map(({ name, default: value }) => [name, copyOf(value ?? null)]),
    );
  }

  /** The type of each param, by name. */
  paramTypes(): Record<string, string> {
    return typesOf(this.params);
  }

  /** The type of each variable, by its `$name`. */
  varTypes(): Record<string, string> {
    return typesOf(this.vars);
  }
}

const typesOf = (declarations: readonly Declaration[]): Record<string, string> =>
  Object.fromEntries(declarations.map(({ name, type }) => [name, type]));

function byId<T extends { id: string }>(all: readonly T[], id: string, prefix: string) {
  const bare = id.startsWith(prefix) ? id.slice(prefix.length) : id;
  return all.find((each) => each.id === id) ?? all.find((each) => each.id === bare);
}

const ownOf = <T>(record: Record<string, T> | undefined, key: string): T | undefined =>
  record && Object.hasOwn(record, key) ? record[key] : undefined;

/**
 * The params that a run starts with: a copy of those given, with the defaults of the others. None given
 * (undefined) is the same as `{}`.
 *
 * With `isPart` those that are missing are null: a run that begins in its middle may need no more.
 *
 * Throws one `WorkflowError` (`PARAMS_INVALID`) that names all that are missing, of a wrong type, or not
 * declared; each has a line in `details`.
 */
function startParams(
  declarations: readonly Declaration[],
  given: unknown,
  isPart = false,
): Record<string, unknown> {
  const params = given === undefined ? {} : given;
  if (!isPlain(params)) {
    throw invalidParams([`params must be an object, not ${kindOf(params)}`], declarations);
  }
  const problems = [
    ...declarations
      .filter(({ name }) => !isPart || (isGiven(params, name) && params[name] !== null))
      .flatMap((declaration) => problemOf(declaration, params) ?? []),
    ...Object.keys(params)
      .filter((name) => !declarations.some((declaration) => declaration.name === name))
      .map((name) => `${shown(name)} is not declared`),
  ];
  if (problems.length > 0) throw invalidParams(problems, declarations);
  return Object.fromEntries(
    declarations.map(({ name, default: missing }) => [
      name,
      copyOf((isGiven(params, name) ? params[name] : missing) ?? null),
    ]),
  );
}

const isGiven = (params: Record<string, unknown>, name: string): boolean =>
  Object.hasOwn(params, name) && params[name] !== undefined;

function problemOf(declaration: Declaration, params: Record<string, unknown>): string | null {
  const { name, type } = declaration;
  if (!isGiven(params, name)) {
    return "default" in declaration ? null : `${name} (${type}) is missing`;
  }
  const value = params[name];
  return isOfType(value, type) ? null : `${name} must be ${type}, not ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return `the number ${value}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function shown(name: string): string {
  const part = name.length > 40 ? `${name.slice(0, 40)}…` : name;
  return /^\w+$/.test(name) ? part : JSON.stringify(part.toWellFormed());
}

function invalidParams(problems: string[], declarations: readonly Declaration[]) {
  const all = declarations.map(({ name, type }) => `${name} (${type})`).join(", ");
  return failure(
    "PARAMS_INVALID",
    `params: ${problems.join("; ")}`,
    all ? `the workflow has the params ${all}` : "the workflow has no params",
    { ...(problems.length > 1 && { details: problems }) },
  );
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
