import { WorkflowError } from "@uncaged/workflow";
import { isRounded } from "@uncaged/workflow/interpreter";
import { choices, type Fail, negative, type Operation, operations } from "./operator.ts";
import { toBool } from "./value.ts";

/** Returns the value of a name (`$plan`, `_item`, `SYSVAR`, `goal`); undefined for an unknown name. */
export type Scope = (name: string) => unknown;

type Evaluate = (scope: Scope) => unknown;

/** A parsed expression, and the names that it uses, each once. */
type Expression = { evaluate: Evaluate; names: ReadonlySet<string> };

/** A syntax or evaluation error. Its message quotes the expression, shortened around `offset`. */
export class ExpressionError extends WorkflowError {
  constructor(
    code: "EXPRESSION_INVALID" | "EXPRESSION_FAILED",
    /** The whole expression, without the leading `=`. */
    readonly source: string,
    /** The problem, without the expression. */
    readonly problem: string,
    /** The offset in `source`, in UTF-16 units from 0. */
    readonly offset: number,
    hint: string,
    cause?: unknown,
  ) {
    const message = `expression ${shown(source, offset)}, offset ${offset}: ${problem}`;
    super({ code, message, hint }, { cause });
    this.name = "ExpressionError";
  }
}

const shownLength = 60;

function shown(source: string, offset: number): string {
  const end = Math.min(source.length, Math.max(offset + shownLength / 2, shownLength));
  const start = Math.max(0, Math.min(offset, end) - shownLength);
  const part = source.slice(start, end).toWellFormed();
  return JSON.stringify(`${start > 0 ? "…" : ""}${part}${end < source.length ? "…" : ""}`);
}

const longest = 10_000;
const deepest = 100;

const grammarHint =
  "an expression can contain names, numbers, texts in quotes, true, false, null, .key, [key], parentheses and || && ! == != > >= < <= + - * /";
const lengthHint = "split the expression over several steps";

const words: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };

export const parse = (source: string): Expression => new Parser(source).whole();

/**
 * Compiles each part to a function while it parses. Loops handle keys and operators of equal precedence, so the call
 * depth depends only on parentheses, brackets and signs.
 */
class Parser {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  readonly #names = new Set<string>();
  #position = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
    if (source.length > longest) {
      const message = `it has ${source.length} characters, more than ${longest}`;
      throw this.#invalid(message, longest, lengthHint);
    }
    for (const { index: offset, groups } of source.matchAll(pattern)) {
      const [kind, text] = Object.entries(groups ?? {}).find(([, one]) => one !== undefined) ?? [];
      if (kind === undefined || text === undefined) continue;
      if (kind === "sign" && !signs.has(text)) throw this.#invalid(foreignText(text), offset);
      this.#tokens.push({ kind: kind as Token["kind"], text, offset });
    }
    this.#tokens.push({ kind: "end", text: "", offset: source.length });
  }

  whole(): Expression {
    const evaluate = this.#binary(0);
    const { kind, text, offset } = this.#next();
    if (kind === "end") return { evaluate, names: this.#names };
    if (text === "(") throw this.#invalid("function calls are not supported", offset);
    throw this.#invalid(`${JSON.stringify(text.toWellFormed())} is not expected here`, offset);
  }

  #binary(least: number): Evaluate {
    let left = this.#signed();
    for (let power = this.#power(); power > least; power = this.#power()) {
      left = this.#chain(left, power);
    }
    return left;
  }

  /** Returns the precedence of the next operator; 0 if no operator follows. */
  #power(): number {
    const { kind, text } = this.#peek();
    return kind === "sign" ? (choices[text] ?? operations[text]?.power ?? 0) : 0;
  }

  #chain(first: Evaluate, power: number): Evaluate {
    const operator = this.#peek().text;
    const operands = [first];
    const links: { run: Operation; operand: Evaluate; fail: Fail }[] = [];
    while (this.#power() === power) {
      const { text, offset } = this.#next();
      const operand = this.#binary(power);
      operands.push(operand);
      const run = operations[text]?.run;
      if (run) links.push({ run, operand, fail: this.#failAt(offset) });
    }
    if (operator in choices) return choice(operator === "||", operands);
    return (scope) => {
      let value = first(scope);
      for (const { run, operand, fail } of links) value = run(value, operand(scope), fail);
      return value;
    };
  }

  #signed(): Evaluate {
    const { kind, text, offset } = this.#peek();
    if (kind !== "sign" || (text !== "!" && text !== "-")) return this.#path();
    this.#next();
    const operand = this.#deeper(offset, () => this.#signed());
    if (text === "!") return (scope) => !toBool(operand(scope));
    const fail = this.#failAt(offset);
    return (scope) => negative(operand(scope), fail);
  }

  #path(): Evaluate {
    const base = this.#primary();
    const keys: Evaluate[] = [];
    for (;;) {
      const { kind, text } = this.#peek();
      if (kind === "key") keys.push(constant(this.#next().text));
      else if (kind === "sign" && text === "[") keys.push(this.#enclosed("]"));
      else break;
    }
    if (keys.length === 0) return base;
    return (scope) => {
      let value = base(scope);
      for (const key of keys) value = read(value, key(scope));
      return value;
    };
  }

  #primary(): Evaluate {
    const { kind, text, offset } = this.#peek();
    if (kind === "sign" && text === "(") return this.#enclosed(")");
    this.#next();
    if (kind === "number") {
      const value = Number(text);
      if (Number.isFinite(value)) {
        if (!isRounded(text)) return constant(value);
        const hint =
          "write the number as a text in quotes: a text can be joined and compared, but not computed with";
        throw this.#invalid(`the number ${text} can't be kept exactly`, offset, hint);
      }
      throw this.#invalid("the number is too large", offset, "write a number below 1e308");
    }
    if (kind === "text") return constant(this.#unescaped(text.slice(1, -1), offset + 1));
    if (kind === "name") {
      if (Object.hasOwn(words, text)) return constant(words[text]);
      this.#names.add(text);
      return (scope) => scope(text);
    }
    if (kind === "end") throw this.#invalid("missing value at the end", offset);
    throw this.#invalid(`missing value before ${JSON.stringify(text)}`, offset);
  }

  #enclosed(close: string): Evaluate {
    const { offset: start } = this.#next();
    const inner = this.#deeper(start, () => this.#binary(0));
    const { kind, text, offset } = this.#next();
    if (kind === "sign" && text === close) return inner;
    if (kind === "end") throw this.#invalid(`missing closing "${close}"`, start);
    if (text === "(") throw this.#invalid("function calls are not supported", offset);
    const found = JSON.stringify(text.toWellFormed());
    throw this.#invalid(`expected "${close}", found ${found}`, offset);
  }

  #deeper(offset: number, inner: () => Evaluate): Evaluate {
    if (this.#depth >= deepest) {
      throw this.#invalid(`more than ${deepest} levels`, offset, lengthHint);
    }
    this.#depth += 1;
    const evaluate = inner();
    this.#depth -= 1;
    return evaluate;
  }

  #unescaped(content: string, start: number): string {
    return content.replace(/\\(?:u[\da-fA-F]{4}|[^])/g, (escape, at: number) => {
      if (escape === "\\'") return "'";
      try {
        return JSON.parse(`"${escape}"`) as string;
      } catch {
        const what = `${JSON.stringify(escape.toWellFormed())} is not a valid escape`;
        const hint = "use the escapes of JSON or \\'; write \\\\ for a backslash";
        throw this.#invalid(what, start + at, hint);
      }
    });
  }

  #peek(): Token {
    return this.#tokens[this.#position] ?? { kind: "end", text: "", offset: this.#source.length };
  }

  #next(): Token {
    const token = this.#peek();
    this.#position += 1;
    return token;
  }

  #invalid(message: string, offset: number, hint = grammarHint): ExpressionError {
    return new ExpressionError("EXPRESSION_INVALID", this.#source, message, offset, hint);
  }

  #failAt(offset: number): Fail {
    const source = this.#source;
    return (message, hint, cause) => {
      throw new ExpressionError("EXPRESSION_FAILED", source, message, offset, hint, cause);
    };
  }
}

const constant =
  (value: unknown): Evaluate =>
  () =>
    value;

/** Returns the first operand whose truth value is `wanted`, otherwise the last operand. */
function choice(wanted: boolean, operands: Evaluate[]): Evaluate {
  return (scope) => {
    let value: unknown;
    for (const operand of operands) {
      value = operand(scope);
      if (toBool(value) === wanted) return value;
    }
    return value;
  };
}

/** Returns an own property of an object, an array or a text; undefined for any other value or property. */
export function read(value: unknown, key: unknown): unknown {
  if (typeof key !== "string" && typeof key !== "number") return undefined;
  if (typeof value === "string") return key === "length" ? value.length : characterAt(value, key);
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

// A lone surrogate can't be encoded. The index of a high surrogate returns the whole character, and the index of a low
// surrogate an empty text.
function characterAt(text: string, key: string | number): string | undefined {
  if (!Object.hasOwn(Object(text) as object, key)) return undefined;
  const at = Number(key);
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (character.length > 1) return character;
  const before = text.codePointAt(at - 1) ?? 0;
  return before > 0xffff ? "" : character;
}

/** A token of an expression, as text. A key has no leading dot. */
type Token = {
  kind: "name" | "number" | "text" | "key" | "sign" | "end";
  text: string;
  offset: number;
};

const pattern = new RegExp(
  [
    /\s+/,
    /(?<name>[$_\p{ID_Start}][$\p{ID_Continue}]*)/u,
    /(?<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/,
    /(?<text>'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*")/,
    /\.\s*(?<key>[$\p{ID_Continue}]+)/u,
    /(?<sign>[=!]==|\|\||&&|[=!<>]=|[^])/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gu",
);

const signs: ReadonlySet<string> = new Set([
  ...Object.keys({ ...choices, ...operations }),
  ...["!", "(", ")", "[", "]"],
]);

const foreign: Readonly<Record<string, string>> = {
  "=": "assignment is not supported; use == to compare",
  "===": "=== is not supported; use == to compare",
  "!==": "!== is not supported; use != to compare",
  "?": "?: is not supported; use && and || to choose",
  "%": "% is not supported",
  "{": "object literals are not supported",
  ",": "unexpected comma",
  "'": "unterminated string",
  '"': "unterminated string",
  ".": 'missing key after "."',
};

const foreignText = (sign: string): string =>
  foreign[sign] ?? `unexpected ${JSON.stringify(sign.toWellFormed())}`;
