import { grammarHint, SyntaxFault, type Token, tokensOf } from "./tokens.ts";

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

/** What follows in a chain: an operator, where it stands, and its right side. */
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

/** Reads an expression. Throws a {@link SyntaxFault}. */
export function parse(source: string): Tree {
  if (source.length > longest) {
    const message = `it has ${source.length} characters, more than ${longest}`;
    throw fault(message, longest, "take it apart over several steps");
  }
  return new Parser(tokensOf(source)).whole();
}

const fault = (message: string, offset: number, hint = grammarHint): SyntaxFault =>
  new SyntaxFault({ message, offset, hint });

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
    if (text === "(") throw fault("there are no functions to call", offset);
    throw fault(`${JSON.stringify(text.toWellFormed())} is not expected here`, offset);
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
    if (token.kind === "end") throw fault("a value is missing at the end", token.offset);
    throw fault(`a value is missing before ${JSON.stringify(token.text)}`, token.offset);
  }

  #enclosed(close: string, start: number): Tree {
    const open = this.#next().text;
    const tree = this.#deeper(start, () => this.#binary(0));
    const { kind, text, offset } = this.#next();
    if (kind === "operator" && text === close) return tree;
    if (kind === "end") throw fault(`the "${open}" has no "${close}"`, start);
    if (text === "(") throw fault("there are no functions to call", offset);
    throw fault(`${JSON.stringify(text.toWellFormed())} stands where "${close}" must`, offset);
  }

  #deeper(offset: number, inner: () => Tree): Tree {
    if (this.#depth >= deepest) {
      throw fault(`it has more than ${deepest} levels`, offset, "take it apart over several steps");
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
