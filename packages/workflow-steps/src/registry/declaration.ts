import { failure } from "../document/document.ts";
import { isPlain } from "../expression/value.ts";

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

const head = /\s*([\p{ID_Continue}]+)\s*\(/uy;
const item = /\s*([\p{ID_Start}_][\p{ID_Continue}]*)\s*\(([^()]*)\)\s*/uy;
const returnWord = /\s*RETURN\s+/iy;
const end = /\s*$/y;
const hint = 'write "Name(a(TYPE), b(TYPE)) RETURN r(TYPE)"';

/**
 * Reads the signature of a service: `Name(p(T), q(T)) RETURN r(T)`. What it returns may be missing, or
 * be several. Throws a `WorkflowError` (`DECLARATION_INVALID`) that quotes the signature.
 */
export function parseServiceSignature(text: string): ServiceSignature {
  if (typeof text !== "string") throw invalid(text, "it is no text", hint);
  const reader = new Reader(text);
  const [, name] = reader.take(head, "it has no name and (");
  const params = reader.at(")") ? [] : reader.items();
  reader.close();
  const returns = reader.takes(returnWord) ? reader.items() : [];
  reader.take(end, "more follows than a signature has");
  return { name: name ?? "", params, returns };
}

class Reader {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  take(pattern: RegExp, message: string): RegExpExecArray {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#text);
    if (!found) throw invalid(this.#text, message, hint);
    this.#position += found[0].length;
    return found;
  }

  takes(pattern: RegExp): boolean {
    pattern.lastIndex = this.#position;
    const length = pattern.exec(this.#text)?.[0].length ?? 0;
    this.#position += length;
    return length > 0;
  }

  at(sign: string): boolean {
    this.takes(/\s+/y);
    return this.#text[this.#position] === sign;
  }

  close(): void {
    if (!this.at(")")) throw invalid(this.#text, 'the "(" has no ")"', hint);
    this.#position += 1;
  }

  items(): ServiceSignature["params"] {
    const items: ServiceSignature["params"] = [];
    do {
      const [, name = "", type = ""] = this.take(item, "a name with its (TYPE) is missing");
      items.push({ name, type: canonicalType(type) });
    } while (this.takes(/,/y));
    return items;
  }
}

const isText = (value: unknown): boolean => typeof value === "string";

/** What a value of each type is. */
const checks: Readonly<Record<string, (value: unknown) => boolean>> = {
  STRING: isText,
  INT: (value) => Number.isSafeInteger(value),
  BOOL: (value) => typeof value === "boolean",
  OBJECT: isPlain,
  ARRAY: (value) => Array.isArray(value),
  FILE_REF: isText,
  "[OBJECT]": (value) => Array.isArray(value) && value.every(isPlain),
  "[STRING]": (value) => Array.isArray(value) && value.every(isText),
};

/** Whether a type is one that values are checked against. */
export const isKnownType = (type: string): boolean => Object.hasOwn(checks, type);

/** A type as it is written in any case: a known one in capitals, another one as it is. */
function canonicalType(text: string): string {
  const type = text.replace(/\s+/g, "").toUpperCase();
  return isKnownType(type) ? type : text.trim();
}

/** Whether a value is of a type. Every value is of a type that is not known. */
export const isOfType = (value: unknown, type: string): boolean =>
  isKnownType(type) ? (checks[type]?.(value) ?? true) : true;

/** Whether the values of a type are texts, so that a default needs no quotes. */
const isTextType = (type: string): boolean => type === "STRING" || type === "FILE_REF";
