import type { Sliced } from "./slices.ts";

/** Number of characters that are parsed or written at once. */
const piece = 64 * 1024;

/** Maximum depth of containers that are parsed in slices, because each level is scanned again. */
const deepest = 50;

/**
 * Parses JSON of any length in slices.
 * @throws SyntaxError if the text is not JSON.
 */
export const parsing = (text: string): Sliced<unknown> => parsed(text, 0);

function* parsed(text: string, depth: number): Sliced<unknown> {
  const from = text.search(/\S/);
  const first = text[from];
  if (text.length <= piece || depth > deepest || (first !== "[" && first !== "{")) {
    return JSON.parse(text) as unknown;
  }
  const isList = first === "[";
  const list: unknown[] = [];
  const record: Record<string, unknown> = {};
  /** Takes members that are short enough to parse at once. */
  const take = (members: string) => {
    if (isList) {
      for (const value of JSON.parse(`[${members}]`) as unknown[]) list.push(value);
      return;
    }
    for (const [name, value] of Object.entries(JSON.parse(`{${members}}`) as object))
      define(record, name, value);
  };
  function* takeLong(member: string): Sliced<void> {
    if (isList) {
      list.push(yield* parsed(member, depth + 1));
      return;
    }
    const [name, rest] = namedIn(member);
    define(record, name, yield* parsed(rest, depth + 1));
  }
  let taken = from + 1;
  let member = taken;
  let level = 0;
  let paused = from;
  for (let at = from + 1; at < text.length; at += 1) {
    if (at - paused > piece) {
      paused = at;
      yield;
    }
    const letter = text.charCodeAt(at);
    if (letter === quote) at = endOfText(text, at);
    else if (letter === openList || letter === openRecord) level += 1;
    else if (letter === closeList || letter === closeRecord) level -= 1;
    const isEnd = level < 0;
    if (!isEnd && (letter !== comma || level > 0)) continue;
    const isLong = at - member > piece;
    if (isLong && member > taken) take(text.slice(taken, member - 1));
    if (isLong) yield* takeLong(text.slice(member, at));
    else if (isEnd ? at > taken : at - taken > piece) take(text.slice(taken, at));
    if (isLong || at - taken > piece) taken = at + 1;
    member = at + 1;
    if (isEnd) return ended(text, from, at, isList ? list : record);
  }
  throw new SyntaxError("Unexpected end of JSON");
}

/** The value of a container, if only blanks follow its last bracket. */
function ended(text: string, from: number, at: number, value: unknown): unknown {
  const isList = Array.isArray(value);
  const before = text.slice(from, at).trimEnd();
  const isFine = text[at] === (isList ? "]" : "}") && !before.endsWith(",");
  if (!isFine || text.slice(at + 1).trim() !== "") throw new SyntaxError("Invalid JSON");
  return value;
}

// An assignment to `__proto__` would change the prototype.
function define(record: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") record[name] = value;
  else Object.defineProperty(record, name, { value, enumerable: true, configurable: true });
}

const codes = Array.from('",[]{}', (letter) => letter.charCodeAt(0));
const [quote, comma, openList, closeList, openRecord, closeRecord] = codes;

/** The index of the quote that ends the text which starts at `from`. */
function endOfText(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}

/** A member of an object: its name and the text of its value. */
function namedIn(member: string): [name: string, rest: string] {
  const from = member.search(/\S/);
  const end = endOfText(member, from) + 1;
  const colon = member.indexOf(":", end);
  if (member[from] !== '"' || colon < 0 || member.slice(end, colon).trim() !== "")
    throw new SyntaxError("Invalid JSON");
  return [JSON.parse(member.slice(from, end)) as string, member.slice(colon + 1)];
}

/** Writes a value as JSON in slices. Short values are indented. */
export function* writing(value: unknown): Sliced<string> {
  if (!isMoreThan(value, piece)) return JSON.stringify(value, null, 2) ?? "undefined";
  const pieces: string[] = [];
  yield* written(value, pieces, 0);
  return pieces.join("");
}

function* written(value: unknown, pieces: string[], depth: number): Sliced<void> {
  const isWhole = typeof value !== "object" || value === null || depth > deepest;
  if (isWhole || !isMoreThan(value, piece)) {
    pieces.push(JSON.stringify(value) ?? "null");
    return;
  }
  yield;
  const isList = Array.isArray(value);
  pieces.push(isList ? "[" : "{");
  let isFirst = true;
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (!isFirst) pieces.push(",");
    isFirst = false;
    if (!isList) pieces.push(JSON.stringify(name), ":");
    yield* written(member, pieces, depth + 1);
    if (pieces.length % 1_000 === 0) yield;
  }
  pieces.push(isList ? "]" : "}");
}

/** Tells whether the JSON of a value has more than about `most` characters. Stops counting at that limit. */
export function isMoreThan(value: unknown, most: number): boolean {
  let left = most;
  const take = (one: unknown): boolean => {
    left -= typeof one === "string" ? one.length + 3 : 6;
    if (left < 0 || typeof one !== "object" || one === null) return left < 0;
    for (const name in one) {
      left -= Array.isArray(one) ? 0 : name.length + 3;
      if (take((one as Record<string, unknown>)[name])) return true;
    }
    return false;
  };
  try {
    return take(value);
  } catch (error) {
    // The value is nested too deeply to traverse. The caller shows that problem.
    if (error instanceof RangeError) return false;
    throw error;
  }
}
