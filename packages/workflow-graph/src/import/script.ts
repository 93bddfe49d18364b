import { brokenScript, tooDeep } from "./errors.ts";

/*
 * Reads the generated TypeScript of an export: tokens, statements and literal values. It does not parse all of
 * TypeScript: an unknown part stays a list of tokens, which the caller reports.
 */

export type Token = {
  kind: "name" | "number" | "text" | "template" | "mark";
  /** The token as in the source. */
  text: string;
  line: number;
  /** Whether a space or a line break precedes the token. */
  isApart: boolean;
};

export type Branch = {
  kind: "if" | "while";
  line: number;
  condition: Token[];
  body: Statement[];
  otherwise: Statement[];
};

export type Assignment = {
  kind: "set";
  line: number;
  name: string;
  tokens: Token[];
  isDeclared: boolean;
};

export type Statement =
  | Branch
  | Assignment
  | { kind: "return" | "other"; line: number; tokens: Token[] };

export type Value =
  | { kind: "text"; parts: (string | { source: string })[] }
  | { kind: "literal"; value: number | boolean | null }
  | { kind: "object"; entries: Map<string, Value> }
  | { kind: "list"; items: Value[] }
  /** A call, or a chain of calls from the inside out: `z.string().nullable()`. */
  | { kind: "call"; calls: { name: string; given: Value[] }[] }
  | { kind: "code"; source: string };

const words = /[\w$]+/y;
const blank = /\s+/y;
const numbers = /\d[\w.]*/y;

/**
 * Splits a source into tokens.
 * @throws WorkflowError `IMPORT_INVALID` for an unterminated string, comment or bracket.
 */
export function tokensOf(source: string, file: string): Token[] {
  const tokens: Token[] = [];
  let [at, line, isApart] = [0, 1, true];
  const take = (end: number): string => {
    const text = source.slice(at, end);
    for (let next = text.indexOf("\n"); next >= 0; next = text.indexOf("\n", next + 1)) line += 1;
    at = end;
    return text;
  };
  const push = (kind: Token["kind"], end: number) => {
    const started = line;
    tokens.push({ kind, text: take(end), line: started, isApart });
    isApart = false;
  };
  while (at < source.length) {
    const first = source[at] ?? "";
    const two = source.slice(at, at + 2);
    const space = matchedAt(blank, source, at);
    if (space > at || two === "//" || two === "/*") {
      if (two === "//" && space === at) take(endOf(source, "\n", at));
      else if (two === "/*" && space === at) {
        const end = source.indexOf("*/", at + 2);
        if (end < 0) throw brokenScript(file, line, "unterminated comment");
        take(end + 2);
      } else take(space);
      isApart = true;
      continue;
    }
    if (/\d/.test(first)) push("number", matchedAt(numbers, source, at));
    else if (/[\w$]/.test(first)) push("name", matchedAt(words, source, at));
    else if (first === '"' || first === "'") push("text", stringEnd(source, at, line, file));
    else if (first === "`") push("template", templateEnd(source, at, line, file));
    else if (first === "/" && isRegexHere(tokens.at(-1))) push("text", regexEnd(source, at));
    else push("mark", at + (two === "=>" || two === "==" || two === "&&" || two === "||" ? 2 : 1));
  }
  checkBrackets(tokens, file);
  return tokens;
}

function matchedAt(pattern: RegExp, source: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(source) ? pattern.lastIndex : at;
}

function endOf(source: string, mark: string, from: number): number {
  const end = source.indexOf(mark, from);
  return end < 0 ? source.length : end;
}

function stringEnd(source: string, from: number, line: number, file: string): number {
  const quote = source[from];
  for (let at = from + 1; at < source.length; at += 1) {
    if (source[at] === "\\") at += 1;
    else if (source[at] === quote) return at + 1;
    else if (source[at] === "\n") break;
  }
  throw brokenScript(file, line, "unterminated string");
}

function templateEnd(source: string, from: number, line: number, file: string): number {
  // Open templates and the braces of their expressions: -1 is a template, other numbers are braces.
  const open: number[] = [-1];
  for (let at = from + 1; at < source.length; at += 1) {
    const [character, next] = [source[at], source[at + 1]];
    const inside = open.at(-1) ?? -1;
    if (character === "\\") at += 1;
    else if (inside === -1 && character === "`") {
      open.pop();
      if (open.length === 0) return at + 1;
    } else if (inside === -1 && character === "$" && next === "{") {
      open.push(0);
      at += 1;
    } else if (inside >= 0 && character === "`") open.push(-1);
    else if (inside >= 0 && character === "{") open[open.length - 1] = inside + 1;
    else if (inside > 0 && character === "}") open[open.length - 1] = inside - 1;
    else if (inside === 0 && character === "}") open.pop();
  }
  throw brokenScript(file, line, "unterminated template");
}

const isRegexHere = (before: Token | undefined): boolean =>
  before === undefined || (before.kind === "mark" && !/^[)\]}]$/.test(before.text));

function regexEnd(source: string, from: number): number {
  let isClass = false;
  for (let at = from + 1; at < source.length && source[at] !== "\n"; at += 1) {
    if (source[at] === "\\") at += 1;
    else if (source[at] === "[") isClass = true;
    else if (source[at] === "]") isClass = false;
    else if (source[at] === "/" && !isClass) return at + 1;
  }
  return from + 1;
}

const closes: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

const deepest = 200;

function checkBrackets(tokens: readonly Token[], file: string): void {
  const open: Token[] = [];
  for (const token of tokens) {
    if (token.kind !== "mark") continue;
    if (Object.hasOwn(closes, token.text)) {
      if (open.push(token) > deepest) throw tooDeep(file);
    } else if (/^[)\]}]$/.test(token.text)) {
      const last = open.pop();
      if (!last || closes[last.text] !== token.text)
        throw brokenScript(file, token.line, `unexpected ${token.text}`);
    }
  }
  const unclosed = open.at(-1);
  if (unclosed) throw brokenScript(file, unclosed.line, `the ${unclosed.text} is never closed`);
}

/** Returns the index of the bracket that closes the bracket at an index. */
export function closing(tokens: readonly Token[], at: number): number {
  let depth = 0;
  for (let index = at; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token?.kind !== "mark") continue;
    if (Object.hasOwn(closes, token.text)) depth += 1;
    else if (/^[)\]}]$/.test(token.text)) depth -= 1;
    if (depth === 0) return index;
  }
  return tokens.length;
}

export const isMark = (token: Token | undefined, text: string): boolean =>
  token?.kind === "mark" && token.text === text;

const isName = (token: Token | undefined, text: string): boolean =>
  token?.kind === "name" && token.text === text;

/** Returns the source of tokens on one line, except for line breaks in string literals. */
export const sourceOf = (tokens: readonly Token[]): string =>
  tokens.map(({ text, isApart }, index) => (isApart && index > 0 ? ` ${text}` : text)).join("");

/** Reads the statements of a block's tokens. */
export function statementsOf(tokens: readonly Token[]): Statement[] {
  const statements: Statement[] = [];
  let at = 0;
  while (at < tokens.length) {
    const first = tokens[at];
    if (!first || isMark(first, ";")) {
      at += 1;
      continue;
    }
    const read = branchAt(tokens, at) ?? simpleAt(tokens, at);
    statements.push(...read.statements);
    at = read.end;
  }
  return statements;
}

type Read = { statements: Statement[]; end: number };

function branchAt(tokens: readonly Token[], at: number): Read | null {
  const first = tokens[at];
  const line = first?.line ?? 1;
  const [isIf, isWhile] = [isName(first, "if"), isName(first, "while")];
  if ((isIf || isWhile) && isMark(tokens[at + 1], "(")) {
    const closed = closing(tokens, at + 1);
    const condition = tokens.slice(at + 2, closed);
    const body = blockAt(tokens, closed + 1);
    const hasElse = isIf && isName(tokens[body.end], "else");
    const otherwise = hasElse ? blockAt(tokens, body.end + 1) : { statements: [], end: body.end };
    const kind = isIf ? "if" : "while";
    const statement: Statement = {
      ...{ kind, line, condition, body: body.statements, otherwise: otherwise.statements },
    };
    return { statements: [statement], end: otherwise.end };
  }
  if ((isName(first, "try") || isName(first, "finally")) && isMark(tokens[at + 1], "{"))
    return blockAt(tokens, at + 1);
  return null;
}

function blockAt(tokens: readonly Token[], at: number): Read {
  if (isMark(tokens[at], "{")) {
    const end = closing(tokens, at);
    return { statements: statementsOf(tokens.slice(at + 1, end)), end: end + 1 };
  }
  return branchAt(tokens, at) ?? simpleAt(tokens, at);
}

function simpleAt(tokens: readonly Token[], at: number): Read {
  let end = at;
  while (end < tokens.length && !isMark(tokens[end], ";")) {
    const token = tokens[end];
    // Generated code has no semicolon after some statements.
    if (end > at && isBeginning(token) && !isBeginning(tokens[end - 1])) break;
    const isOpen = token?.kind === "mark" && Object.hasOwn(closes, token.text);
    end = isOpen ? closing(tokens, end) + 1 : end + 1;
  }
  const isEnded = isMark(tokens[end], ";");
  return { statements: [simpleOf(tokens.slice(at, end))], end: isEnded ? end + 1 : end };
}

const beginnings =
  /^(const|let|var|function|async|export|type|interface|class|if|while|return|throw|try)$/;

const isBeginning = (token: Token | undefined): boolean =>
  token?.kind === "name" && beginnings.test(token.text);

function simpleOf(tokens: Token[]): Statement {
  const line = tokens[0]?.line ?? 1;
  const isExported = isName(tokens[0], "export");
  const own = isExported ? tokens.slice(1) : tokens;
  if (isName(own[0], "return")) return { kind: "return", line, tokens: own.slice(1) };
  const isDeclared = own[0]?.kind === "name" && /^(const|let|var)$/.test(own[0].text);
  const left = own.findIndex((token) => isMark(token, "="));
  if (left < 0) return { kind: "other", line, tokens: own };
  // A type follows the name: `const history: Item[] = …`.
  const target = own.slice(isDeclared ? 1 : 0, left);
  const colon = isMark(target[0], "{") ? -1 : target.findIndex((token) => isMark(token, ":"));
  const name = sourceOf(colon < 0 ? target : target.slice(0, colon)).replace(/\s+/g, "");
  return { kind: "set", line, name, tokens: own.slice(left + 1), isDeclared };
}

/** Reads a value. Expressions other than literals, lists, objects and calls become code. */
export function valueOf(given: readonly Token[]): Value {
  const tokens = isName(given[0], "await") || isName(given[0], "new") ? given.slice(1) : given;
  const [first] = tokens;
  const code = { kind: "code", source: sourceOf(tokens) } as const;
  if (!first) return code;
  const isWhole = closing(tokens, 0) === tokens.length - 1;
  if (tokens.length === 1) return singleOf(first) ?? code;
  if (isMark(first, "-") && tokens.length === 2 && tokens[1]?.kind === "number")
    return { kind: "literal", value: -Number(tokens[1].text) };
  if (isMark(first, "{") && isWhole) return objectOf(tokens.slice(1, -1));
  if (isMark(first, "[") && isWhole) return { kind: "list", items: listIn(tokens.slice(1, -1)) };
  return callsOf(tokens) ?? code;
}

function singleOf({ kind, text }: Token): Value | null {
  if (kind === "number") return { kind: "literal", value: Number(text) };
  if (kind === "text" && /^["']/.test(text))
    return { kind: "text", parts: [unescaped(text.slice(1, -1))] };
  if (kind === "template") return { kind: "text", parts: templateParts(text.slice(1, -1)) };
  if (text === "true" || text === "false") return { kind: "literal", value: text === "true" };
  return text === "null" ? { kind: "literal", value: null } : null;
}

function objectOf(tokens: readonly Token[]): Value {
  const entries = new Map<string, Value>();
  for (const part of split(tokens)) {
    const [key] = part;
    const name = key?.kind === "text" ? unescaped(key.text.slice(1, -1)) : (key?.text ?? "");
    if (isMark(part[1], ":")) entries.set(name, valueOf(part.slice(2)));
    else entries.set(sourceOf(part), { kind: "code", source: sourceOf(part) });
  }
  return { kind: "object", entries };
}

const listIn = (tokens: readonly Token[]): Value[] => split(tokens).map(valueOf);

function callsOf(tokens: readonly Token[]): Value | null {
  const calls: { name: string; given: Value[] }[] = [];
  let at = 0;
  while (at < tokens.length) {
    let end = at;
    while (end < tokens.length && (tokens[end]?.kind === "name" || isMark(tokens[end], ".")))
      end += 1;
    if (end === at || !isMark(tokens[end], "(")) return null;
    const closed = closing(tokens, end);
    const name = sourceOf(tokens.slice(at, end)).replace(/\s+|^\./g, "");
    calls.push({ name, given: listIn(tokens.slice(end + 1, closed)) });
    at = closed + 1;
  }
  return calls.length > 0 ? { kind: "call", calls } : null;
}

/** Splits tokens at the commas outside of brackets. */
function split(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [];
  let begin = 0;
  for (let at = 0; at <= tokens.length; ) {
    const token = tokens[at];
    if (at === tokens.length || isMark(token, ",")) {
      if (at > begin) parts.push(tokens.slice(begin, at));
      at += 1;
      begin = at;
    } else {
      const isOpen = token?.kind === "mark" && Object.hasOwn(closes, token.text);
      at = isOpen ? closing(tokens, at) + 1 : at + 1;
    }
  }
  return parts;
}

function templateParts(text: string): (string | { source: string })[] {
  const parts: (string | { source: string })[] = [];
  let [begin, at] = [0, 0];
  while (at < text.length) {
    if (text[at] === "\\") at += 2;
    else if (text.startsWith("${", at)) {
      if (at > begin) parts.push(unescaped(text.slice(begin, at)));
      const end = expressionEnd(text, at + 2);
      parts.push({ source: text.slice(at + 2, end).trim() });
      begin = end + 1;
      at = begin;
    } else at += 1;
  }
  if (begin < text.length) parts.push(unescaped(text.slice(begin)));
  return parts;
}

function expressionEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === "{") depth += 1;
    else if (text[at] === "}" && depth === 0) return at;
    else if (text[at] === "}") depth -= 1;
  }
  return text.length;
}

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  v: "\v",
  "0": "\0",
  "\n": "",
};

const unescaped = (text: string): string =>
  text.replace(
    /\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])/g,
    (_, one: string) => {
      const code = /^(?:u\{?|x)([0-9a-fA-F]+)\}?$/.exec(one)?.[1];
      if (code === undefined || one.length === 1) return escapes[one] ?? one;
      const point = Number.parseInt(code, 16);
      return point > 0x10_ff_ff ? "" : String.fromCodePoint(point);
    },
  );

/** Returns the text of a value without its expressions; null for another value. */
export function plainText(value: Value | undefined): string | null {
  if (value?.kind !== "text") return null;
  return value.parts.map((part) => (typeof part === "string" ? part : "")).join("");
}
