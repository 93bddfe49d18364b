import { WorkflowError } from "@uncaged/workflow";
import { canonicalType, isOfType, isTextType } from "./value-type.ts";

/** A declared param or variable; the name of a variable begins with `$`. */
export type Declaration = { name: string; type: string; default?: unknown };

const form = /^\s*(\$?[\p{ID_Start}_][$\p{ID_Continue}]*)\s*\(([^()]*)\)\s*(?:=([^]*))?$/u;
const unreadable: ReadonlySet<string> = new Set(["true", "false", "null", "SYSVAR"]);

/**
 * Reads the declaration of a param: `goal(STRING)`, `n(INT) = 3`. The type is written in any case; a
 * default is JSON or bare text, and a param without one is required.
 *
 * Throws a `WorkflowError` (`DECLARATION_INVALID`) that quotes the declaration.
 */
export function parseParamDeclaration(text: string): Declaration {
  const declaration = declarationIn(text, 'write "name(TYPE)" or "name(TYPE) = default"');
  if (declaration.name.startsWith("$")) {
    throw invalid(text, "the name of a param has no $", 'write "name(TYPE)"');
  }
  if (unreadable.has(declaration.name)) {
    throw invalid(
      text,
      `no expression can read the name ${declaration.name}`,
      "choose another name",
    );
  }
  return declaration;
}

/**
 * Reads the declaration of a variable: `$plan(OBJECT)`, `$n(INT) = 0`. The name keeps its `$`.
 *
 * Throws a `WorkflowError` (`DECLARATION_INVALID`) that quotes the declaration.
 */
export function parseVariableDeclaration(text: string): Declaration {
  const declaration = declarationIn(text, 'write "$name(TYPE)" or "$name(TYPE) = default"');
  if (declaration.name.startsWith("$")) return declaration;
  throw invalid(text, "the name of a variable begins with $", 'write "$name(TYPE)"');
}

function declarationIn(text: string, hint: string): Declaration {
  const found = typeof text === "string" ? form.exec(text) : null;
  const [, name, written, value] = found ?? [];
  if (!name || written === undefined) throw invalid(text, "it has no name and type", hint);
  const type = canonicalType(written);
  if (type === "") throw invalid(text, "its type is empty", hint);
  if (value === undefined) return { name, type };
  const given = defaultOf(value.trim(), type);
  if (given !== null && !isOfType(given, type)) {
    throw invalid(
      text,
      `its default is not of type ${type}`,
      "give a default of the type, as JSON",
    );
  }
  return { name, type, default: given };
}

function defaultOf(text: string, type: string): unknown {
  const value = jsonOr(text);
  return isTextType(type) && typeof value !== "string" && value !== null ? text : value;
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** A declaration that can't be read. */
export function invalid(text: unknown, message: string, hint: string): WorkflowError {
  const quoted = typeof text === "string" ? text : `a ${typeof text}`;
  const shown = quoted.length > 80 ? `${quoted.slice(0, 80)}…` : quoted;
  return new WorkflowError({
    code: "DECLARATION_INVALID",
    kind: "failed",
    message: `declaration ${JSON.stringify(shown.toWellFormed())}: ${message}`,
    hint,
  });
}
