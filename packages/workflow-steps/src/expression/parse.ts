import type { ExpressionProblem } from "./value.ts";

/**
 * An expression as a tree. Operators of one level, and keys, stand in a list: however many there are,
 * the tree is no deeper than the text's parentheses, brackets and signs.
 */
export type Tree =
  | { kind: "literal"; value: string | number | boolean | null }
  | { kind: "name"; name: string }
  | { kind: "path"; base: Tree; keys: Tree[] }
  | { kind: "sign"; sign: "!" | "-"; operand: Tree; offset: number }
  | { kind: "chain"; first: Tree; rest: Link[] };

/** What follows in a chain: an operator, its position, and its right side. */
export type Link = { operator: Operator; offset: number; operand: Tree };

/** The operators with two sides, and how strongly each binds. */
const powers = {
  "||": 1,
  "&&": 2,
  "==": 3,
  "!=": 3,
  "<": 4,
  "<=": 4,
  ">": 4,
  ">=": 4,
  "+": 5,
  "-": 5,
  "*": 6,
  "/": 6,
} as const;
export type Operator = keyof typeof powers;

const words: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);

const longest = 10_000;
const deepest = 100;

/** Reads an expression. Throws a {@link SyntaxViolation}. */
export function parse(source: string): Tree {
  if (source.length > longest) {
    const message = `it has ${source.length} characters, more than ${longest}`;
    throw violation(message, longest, "take it apart over several steps");
  }
  return new Parser(tokensOf(source)).whole();
}

const violation = (message: string, offset: number, hint = grammarHint): SyntaxViolation =>
  new SyntaxViolation({ message, offset, hint });

class Parser {
  readonly #tokens: Token[];
  #position = 0;
  #depth = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  whole(): Tree {
    const tree = this.#binary(0);
    const { kind, text, offset } = this.#next();
    if (kind === "end") return tree;
    if (text === "(") throw violation("there are no functions to call", offset);
    throw violation(`${JSON.stringify(text.toWellFormed())} is not expected here`, offset);
  }

  #binary(least: number): Tree {
    let left = this.#signed();
    let chain: Link[] = [];
    let chained = 0;
    for (;;) {
      const { kind, text, offset } = this.#peek();
      const power = kind === "operator" ? (powers[text as Operator] ?? 0) : 0;
      if (power === 0 || power <= least) return left;
      this.#next();
      const operand = this.#binary(power);
      if (power !== chained) {
        chain = [];
        chained = power;
        left = { kind: "chain", first: left, rest: chain };
      }
      chain.push({ operator: text as Operator, offset, operand });
    }
  }

  #signed(): Tree {
    const { kind, text, offset } = this.#peek();
    if (kind !== "operator" || (text !== "!" && text !== "-")) return this.#path();
    this.#next();
    const operand = this.#deeper(offset, () => this.#signed());
    return { kind: "sign", sign: text, operand, offset };
  }

  #path(): Tree {
    const base = this.#primary();
    const keys: Tree[] = [];
    for (;;) {
      const { kind, text, offset } = this.#peek();
      if (kind === "key") {
        this.#next();
        keys.push({ kind: "literal", value: text });
      } else if (kind === "operator" && text === "[") {
        keys.push(this.#enclosed("]", offset));
      } else {
        return keys.length > 0 ? { kind: "path", base, keys } : base;
      }
    }
  }

  #primary(): Tree {
    const token = this.#peek();
    if (token.kind === "operator" && token.text === "(") return this.#enclosed(")", token.offset);
    this.#next();
    if (token.kind === "number") return { kind: "literal", value: token.value };
    if (token.kind === "text") return { kind: "literal", value: token.text };
    if (token.kind === "name") {
      const value = words.get(token.text);
      return value === undefined ? { kind: "name", name: token.text } : { kind: "literal", value };
    }
    if (token.kind === "end") throw violation("a value is missing at the end", token.offset);
    throw violation(`a value is missing before ${JSON.stringify(token.text)}`, token.offset);
  }

  #enclosed(close: string, start: number): Tree {
    const open = this.#next().text;
    const tree = this.#deeper(start, () => this.#binary(0));
    const { kind, text, offset } = this.#next();
    if (kind === "operator" && text === close) return tree;
    if (kind === "end") throw violation(`the "${open}" has no "${close}"`, start);
    if (text === "(") throw violation("there are no functions to call", offset);
    throw violation(`${JSON.stringify(text.toWellFormed())} stands where "${close}" must`, offset);
  }

  #deeper(offset: number, inner: () => Tree): Tree {
    if (this.#depth >= deepest) {
      throw violation(
        `it has more than ${deepest} levels`,
        offset,
        "take it apart over several steps",
      );
    }
    this.#depth += 1;
    const tree = inner();
    this.#depth -= 1;
    return tree;
  }

  #peek(): Token {
    return this.#tokens[this.#position] ?? this.#last();
  }

  #next(): Token {
    const token = this.#peek();
    this.#position += 1;
    return token;
  }

  #last(): Token {
    return this.#tokens.at(-1) ?? { kind: "end", text: "", offset: 0 };
  }
}

/** A word of an expression. `text` is a name, a key, an operator or a text's own characters. */
type Token =
  | { kind: "name" | "key" | "text" | "operator" | "end"; text: string; offset: number }
  | { kind: "number"; text: string; value: number; offset: number };

/** Thrown while an expression is read; it becomes an `ExpressionError` where the whole text is known. */
export class SyntaxViolation extends Error {
  constructor(readonly problem: ExpressionProblem) {
    super(problem.message);
  }
}

const grammarHint =
  "an expression has names, numbers, texts in quotes, true, false, null, .key, [key], parentheses and || && ! == != > >= < <= + - * /";

const space = /\s*/y;
const number = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const name = /[$_\p{ID_Start}][$\p{ID_Continue}]*/uy;
const key = /\.\s*([$\p{ID_Continue}]+)/uy;
const text = /'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*"/y;
const operator = /[=!]==|\|\||&&|[=!<>]=|[!<>+\-*/()[\]]/y;

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  b: "\b",
  f: "\f",
};

const foreign: Readonly<Record<string, string>> = {
  "=": "a value can't be assigned here; == compares",
  "===": "there is no ===; == compares",
  "!==": "there is no !==; != compares",
  "?": "there is no conditional; && and || choose",
  "%": "there is no %",
  "{": "an object can't be written here",
  ",": "a comma has no place here",
  "'": "the text that begins here has no end",
  '"': "the text that begins here has no end",
  ".": "a key must follow the point",
};

/** The words of a text, with an `end` as the last. Throws a {@link SyntaxViolation}. */
function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let offset = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = offset;
    return pattern.exec(source);
  };
  for (;;) {
    offset += match(space)?.[0].length ?? 0;
    if (offset >= source.length) break;
    const { token, length } = tokenAt(source, offset, match);
    tokens.push(token);
    offset += length;
  }
  tokens.push({ kind: "end", text: "", offset });
  return tokens;
}

function tokenAt(
  source: string,
  offset: number,
  match: (pattern: RegExp) => RegExpExecArray | null,
): { token: Token; length: number } {
  const word = match(name)?.[0];
  if (word) return { token: { kind: "name", text: word, offset }, length: word.length };
  const digits = match(number)?.[0];
  if (digits) return { token: numberToken(digits, offset), length: digits.length };
  const quoted = match(text)?.[0];
  if (quoted) {
    const plain = unescaped(quoted.slice(1, -1), offset + 1);
    return { token: { kind: "text", text: plain, offset }, length: quoted.length };
  }
  const member = match(key);
  if (member?.[1]) {
    return { token: { kind: "key", text: member[1], offset }, length: member[0].length };
  }
  const sign = match(operator)?.[0];
  if (sign && !foreign[sign]) {
    return { token: { kind: "operator", text: sign, offset }, length: sign.length };
  }
  const found = sign ?? String.fromCodePoint(source.codePointAt(offset) ?? 0);
  const message = foreign[found] ?? `${JSON.stringify(found.toWellFormed())} has no meaning`;
  throw new SyntaxViolation({ message, offset, hint: grammarHint });
}

function numberToken(digits: string, offset: number): Token {
  const value = Number(digits);
  if (Number.isFinite(value)) return { kind: "number", text: digits, value, offset };
  const message = "the number is too large";
  throw new SyntaxViolation({ message, offset, hint: "write a number below 1e308" });
}

function unescaped(content: string, start: number): string {
  if (!content.includes("\\")) return content;
  return content.replace(
    /\\(?:u([\da-fA-F]{4})|([^]))/g,
    (all, code?: string, one?: string, at = 0) => {
      if (code) return String.fromCharCode(Number.parseInt(code, 16));
      const found = one ?? "";
      if ("\\/'\"".includes(found)) return found;
      const plain = escapes[found];
      if (plain) return plain;
      throw new SyntaxViolation({
        message: `${JSON.stringify(all.toWellFormed())} is no escape`,
        offset: start + Number(at),
        hint: "a text has the escapes of JSON and \\'; write \\\\ for a backslash",
      });
    },
  );
}
