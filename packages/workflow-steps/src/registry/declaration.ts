import { failure } from "../document/document.ts";
import { type Form, violationsOf } from "../document/form.ts";

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
  const { name } = declaration;
  if (name.startsWith("$")) {
    throw invalid(text, "the name of a param has no $", 'write "name(TYPE)"');
  }
  if (!unreadable.has(name)) return declaration;
  throw invalid(text, `no expression can read the name ${name}`, "choose another name");
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
  if (given === null || isOfType(given, type)) return { name, type, default: given };
  const wanted = "give a default of the type, as JSON";
  throw invalid(text, `its default is not of type ${type}`, wanted);
}

/** A text needs no quotes. */
function defaultOf(text: string, type: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    return value === null || valueForms[type]?.type !== "string" || typeof value === "string"
      ? value
      : text;
  } catch {
    return text;
  }
}

function invalid(text: unknown, message: string, hint: string) {
  const quoted = typeof text === "string" ? text : `a ${typeof text}`;
  const shown = quoted.length > 80 ? `${quoted.slice(0, 80)}…` : quoted;
  return failure(
    "DECLARATION_INVALID",
    `declaration ${JSON.stringify(shown.toWellFormed())}: ${message}`,
    hint,
  );
}

/** What a service takes and gives. */
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
 * Reads the signature of a service: `Name(p(T), q(T)) RETURN r(T)`. What it returns may be missing, or
 * be several. Throws a `WorkflowError` (`DECLARATION_INVALID`) that quotes the signature.
 */
export function parseServiceSignature(text: string): ServiceSignature {
  const refused = (message: string) =>
    invalid(text, message, 'write "Name(a(TYPE), b(TYPE)) RETURN r(TYPE)"');
  if (typeof text !== "string") throw refused("it is no text");
  const [, name, params = "", close, returns, rest] = signature.exec(text) ?? [];
  if (name === undefined) throw refused("it has no name and (");
  if (!close) throw refused('the "(" has no ")"');
  if (rest) throw refused("more follows than a signature has");
  const read = (list: string) =>
    list.split(/,(?![^(]*\))/).map((one) => {
      const [, itemName, type] = item.exec(one) ?? [];
      if (itemName !== undefined && type !== undefined) {
        return { name: itemName, type: canonicalType(type) };
      }
      throw refused("a name with its (TYPE) is missing");
    });
  return {
    name,
    params: params.trim() === "" ? [] : read(params),
    returns: returns === undefined ? [] : read(returns),
  };
}

/** What a value of each type is. */
export const valueForms: Readonly<Record<string, Form>> = {
  STRING: { type: "string" },
  FILE_REF: { type: "string", description: "a file" },
  INT: { type: "integer" },
  BOOL: { type: "boolean" },
  OBJECT: { type: "object" },
  ARRAY: { type: "array" },
  "[OBJECT]": { type: "array", items: { type: "object" } },
  "[STRING]": { type: "array", items: { type: "string" } },
};

/** Whether a type is one that values are checked against. */
export const isKnownType = (type: string): boolean => Object.hasOwn(valueForms, type);

/** A type as it is written in any case: a known one in capitals, another one as it is. */
function canonicalType(text: string): string {
  const type = text.replace(/\s+/g, "").toUpperCase();
  return isKnownType(type) ? type : text.trim();
}

/** Whether a value is of a type. Every value is of a type that is not known. */
export const isOfType = (value: unknown, type: string): boolean =>
  !isKnownType(type) || violationsOf(valueForms[type] ?? {}, value, []).length === 0;
