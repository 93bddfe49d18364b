import type { ExpressionProblem } from "./error.ts";

/** A word of an expression. `text` is a name, a key, an operator or a text's own characters. */
export type Token =
  | { kind: "name" | "key" | "text" | "operator" | "end"; text: string; offset: number }
  | { kind: "number"; text: string; value: number; offset: number };

/** Thrown while an expression is read; it becomes an `ExpressionError` where the whole text is known. */
export class SyntaxFault extends Error {
  constructor(readonly problem: ExpressionProblem) {
    super(problem.message);
  }
}

export const grammarHint =
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

/** The words of a text, with an `end` as the last. Throws a {@link SyntaxFault}. */
export function tokensOf(source: string): Token[] {
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
  throw new SyntaxFault({ message, offset, hint: grammarHint });
}

function numberToken(digits: string, offset: number): Token {
  const value = Number(digits);
  if (Number.isFinite(value)) return { kind: "number", text: digits, value, offset };
  const message = "the number is too large";
  throw new SyntaxFault({ message, offset, hint: "write a number below 1e308" });
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
      throw new SyntaxFault({
        message: `${JSON.stringify(all.toWellFormed())} is no escape`,
        offset: start + Number(at),
        hint: "a text has the escapes of JSON and \\'; write \\\\ for a backslash",
      });
    },
  );
}
