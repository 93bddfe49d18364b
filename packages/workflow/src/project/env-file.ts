import { readTextFile } from "./text-file.ts";
import { envFileInvalid } from "./errors.ts";

/**
 * Reads the variables of a `.env` file; empty when the file is missing. Lines are `NAME=value`, optionally after
 * `export`. Quoted values may span lines, and `\n` in double quotes is a new line. `#` starts a comment.
 *
 * @throws WorkflowError `ENV_FILE_INVALID` with file and line of each invalid line, without its content; the errors of
 * `readTextFile`.
 */
export function readEnvFile(path: string): ReadonlyMap<string, string> {
  const text = readTextFile(path) ?? "";
  const { variables, broken } = parseEnv(text.replace(/\r\n?/g, "\n"));
  if (broken.length === 0) return variables;
  const details = broken.map(({ line, what }) => `${path}:${line}: ${what}`);
  throw envFileInvalid(details);
}

/** A variable, and the position where its value ends. */
type Assignment = { name: string; value: string; end: number };
type Broken = { what: string };

const blank = /^\s*(#.*)?$/;
const head = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=[^\S\n]*/;

/** Parses a text into variables and invalid lines. The last assignment to a name counts. */
function parseEnv(text: string) {
  const variables = new Map<string, string>();
  const broken: { line: number; what: string }[] = [];
  let line = 0;
  for (let at = 0, next = 0; at <= text.length; at = next) {
    line += 1;
    next = endOfLine(text, at) + 1;
    if (blank.test(text.slice(at, next - 1))) continue;
    const found = assignmentAt(text, at);
    if ("what" in found) {
      broken.push({ line, what: found.what });
      continue;
    }
    variables.set(found.name, found.value);
    next = found.end + 1;
    line += text.slice(at, found.end).split("\n").length - 1;
  }
  return { variables, broken };
}

function assignmentAt(text: string, at: number): Assignment | Broken {
  const end = endOfLine(text, at);
  const [whole = "", name] = head.exec(text.slice(at, end)) ?? [];
  if (name === undefined) return { what: "expected NAME=value" };
  const from = at + whole.length;
  const quote = text[from] ?? "";
  if (!["'", '"', "`"].includes(quote)) {
    const [value = ""] = text.slice(from, end).split("#", 1);
    return value.includes("\0") ? nul : { name, value: value.trim(), end };
  }
  const close = closingQuote(text, from + 1, quote);
  if (close < 0) return { what: "unterminated quote" };
  const lastEnd = endOfLine(text, close);
  if (!blank.test(text.slice(close + 1, lastEnd))) {
    return { what: "unexpected text after the closing quote" };
  }
  const inside = text.slice(from + 1, close);
  if (inside.includes("\0")) return nul;
  return { name, value: quote === '"' ? unescaped(inside) : inside, end: lastEnd };
}

const nul: Broken = { what: "the value contains a NUL character" };

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

// A backslash escapes a quote in double quotes.
function closingQuote(text: string, from: number, quote: string): number {
  let at = text.indexOf(quote, from);
  if (quote !== '"') return at;
  while (at >= 0 && isEscaped(text, from, at)) at = text.indexOf(quote, at + 1);
  return at;
}

function isEscaped(text: string, from: number, at: number): boolean {
  let slashes = 0;
  while (at - slashes > from && text[at - slashes - 1] === "\\") slashes += 1;
  return slashes % 2 === 1;
}

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  '"': '"',
  "\\": "\\",
};

const unescaped = (text: string): string =>
  text.replace(/\\([^])/g, (all, letter: string) => escapes[letter] ?? all);
