import type { JsonSchema } from "@uncaged/workflow";
import { failure } from "../document/document.ts";
import type { RegistryDocument } from "../document/format.ts";
import { copyOf, isPlain } from "../expression/value.ts";
import {
  type Declaration,
  isKnownType,
  isOfType,
  parseParamDeclaration,
  parseServiceSignature,
  parseVariableDeclaration,
  type ServiceSignature,
  valueForms,
} from "./declaration.ts";

/**
 * What the registry of a step workflow declares, read. The constructor throws a `WorkflowError`
 * (`DECLARATION_INVALID`) for the first declaration that can't be read; the validator names them all.
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
   * The params that a run starts with: a copy of those given, with the defaults of the others. None
   * given (undefined) is the same as `{}`. Throws one `WorkflowError` (`PARAMS_INVALID`) that names all
   * that are missing, of a wrong type, or not declared; each has a line in `details`.
   */
  startParams(given: unknown): Record<string, unknown> {
    return this.#checkedParams(given, problemOf);
  }

  /**
   * The same for a run that begins in its middle: what is missing and has no default is null. Throws as
   * {@link Registry.startParams} for what is given.
   */
  someParams(given: unknown): Record<string, unknown> {
    return this.#checkedParams(given, (declaration, params) =>
      (params[declaration.name] ?? null) === null ? null : problemOf(declaration, params),
    );
  }

  #checkedParams(given: unknown = {}, check: typeof problemOf): Record<string, unknown> {
    if (!isPlain(given)) throw this.#invalid([`params must be an object, not ${kindOf(given)}`]);
    // What every object inherits is not given.
    const params: Record<string, unknown> = Object.assign(Object.create(null), given);
    const problems = [
      ...this.params.flatMap((declaration) => check(declaration, params) ?? []),
      ...Object.keys(given)
        .filter((name) => !this.params.some((declaration) => declaration.name === name))
        .map((name) => `${shown(name)} is not declared`),
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
    return failure(
      "PARAMS_INVALID",
      `params: ${problems.join("; ")}`,
      all ? `the workflow has the params ${all}` : "the workflow has no params",
      { details: problems.length > 1 ? problems : undefined },
    );
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

function shown(name: string): string {
  const part = name.length > 40 ? `${name.slice(0, 40)}…` : name;
  return /^\w+$/.test(name) ? part : JSON.stringify(part.toWellFormed());
}

/** What the params of a run must be, as a JSON Schema, from their declarations. */
export function inputSchema(declarations: readonly string[]): JsonSchema {
  const declared = declarations.map(parseParamDeclaration);
  return {
    type: "object",
    properties: Object.fromEntries(
      declared.map(({ name, type, ...rest }) => [
        name,
        { ...(isKnownType(type) && valueForms[type]), ...rest },
      ]),
    ),
    required: declared.filter((one) => !("default" in one)).map(({ name }) => name),
    additionalProperties: false,
  };
}
