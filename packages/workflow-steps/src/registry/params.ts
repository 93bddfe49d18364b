import { WorkflowError } from "@uncaged/workflow";
import { copyOf } from "../expression/copy.ts";
import { isPlain } from "../expression/value.ts";
import type { Declaration } from "./declaration.ts";
import { isOfType } from "./value-type.ts";

/**
 * The params that a run starts with: a copy of those given, with the defaults of the others. None given
 * (undefined) is the same as `{}`.
 *
 * With `isPart` those that are missing are null: a run that begins in its middle may need no more.
 *
 * Throws one `WorkflowError` (`PARAMS_INVALID`) that names all that are missing, of a wrong type, or not
 * declared; each has a line in `details`.
 */
export function startParams(
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

function invalidParams(problems: string[], declarations: readonly Declaration[]): WorkflowError {
  const all = declarations.map(({ name, type }) => `${name} (${type})`).join(", ");
  return new WorkflowError({
    code: "PARAMS_INVALID",
    kind: "failed",
    message: `params: ${problems.join("; ")}`,
    hint: all ? `the workflow has the params ${all}` : "the workflow has no params",
    ...(problems.length > 1 && { details: problems }),
  });
}
