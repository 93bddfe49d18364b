import type { DocumentPath } from "../document/text.ts";

/** A value or property of a JSON text with its position. The text must be valid JSON. */
export class TextNode {
  readonly type: "object" | "array" | "property" | "other";
  readonly offset: number;
  readonly length: number;
  readonly parent: TextNode | null;
  readonly #text: string;
  #children: TextNode[] | null = null;

  constructor(text: string, offset: number, end: number, parent: TextNode | null = null) {
    this.#text = text;
    this.offset = offset;
    this.length = end - offset;
    this.parent = parent;
    this.type = parent?.type === "object" ? "property" : (types[text[offset] ?? ""] ?? "other");
  }

  get end(): number {
    return this.offset + this.length;
  }

  /** The items of a list, the properties of an object, or the name and value of a property. Read lazily. */
  get children(): readonly TextNode[] {
    this.#children ??= this.#read();
    return this.#children;
  }

  /** The parsed value, or the name of a property. */
  get value(): unknown {
    return JSON.parse(this.#text.slice(this.offset, this.end)) as unknown;
  }

  #read(): TextNode[] {
    const text = this.#text;
    switch (this.type) {
      case "property": {
        const colon = endOfString(text, this.offset);
        const value = afterBlanks(text, afterBlanks(text, colon) + 1);
        return [
          new TextNode(text, this.offset, colon, this),
          new TextNode(text, value, this.end, this),
        ];
      }
      case "array":
        return this.#items((at) => endOfValue(text, at));
      case "object":
        return this.#items((at) => {
          const colon = afterBlanks(text, endOfString(text, at));
          return endOfValue(text, afterBlanks(text, colon + 1));
        });
      default:
        return [];
    }
  }

  #items(endOf: (at: number) => number): TextNode[] {
    const text = this.#text;
    const all: TextNode[] = [];
    const last = this.end - 1;
    for (let at = afterBlanks(text, this.offset + 1); at < last; ) {
      const end = endOf(at);
      all.push(new TextNode(text, at, end, this));
      at = afterBlanks(text, afterBlanks(text, end) + 1);
    }
    return all;
  }
}

const types: Readonly<Record<string, TextNode["type"]>> = { "{": "object", "[": "array" };

let last: { text: string; root: TextNode | undefined } = { text: "", root: undefined };

/**
 * Returns the root of a JSON text's values with their positions; undefined for a blank text. Parses a value only when
 * it is read, so that finding one field of a large document is fast. Caches the tree of the last text.
 */
export function treeOf(text: string): TextNode | undefined {
  if (last.text !== text) {
    const begin = afterBlanks(text, 0);
    const isEmpty = begin >= text.length;
    last = { text, root: isEmpty ? undefined : new TextNode(text, begin, endOfValue(text, begin)) };
  }
  return last.root;
}

/** Returns the deepest existing value on a path, with its depth. */
export function deepest(root: TextNode, path: DocumentPath): { node: TextNode; depth: number } {
  let node = root;
  for (const [depth, key] of path.entries()) {
    const next = childAt(node, key);
    if (!next) return { node, depth };
    node = next;
  }
  return { node, depth: path.length };
}

function childAt({ type, children }: TextNode, key: string | number): TextNode | undefined {
  if (type === "array") return typeof key === "number" ? children[key] : undefined;
  if (type !== "object") return undefined;
  // The last of several equal names counts, as in `JSON.parse`.
  return children.findLast(({ children: [name] }) => name?.value === String(key))?.children[1];
}

/** Returns the path of the innermost value around an offset. */
export function pathAt(root: TextNode, offset: number): DocumentPath {
  const path: (string | number)[] = [];
  for (let node = root; ; ) {
    const index = node.children.findIndex((one) => offset >= one.offset && offset <= one.end);
    const child = node.children[index];
    if (!child) return path;
    if (node.type === "array") path.push(index);
    else if (node.type === "object") path.push(String(child.children[0]?.value));
    node = child;
  }
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

const isBlank = (code: number): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

function afterBlanks(text: string, from: number): number {
  let at = from;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
  return text.length;
}

function endOfValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === quote) return endOfString(text, from);
  if (first !== openBrace && first !== openBracket) return endOfWord(text, from);
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at) - 1;
    else if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

/** Returns the end of a number, true, false or null. */
function endOfWord(text: string, from: number): number {
  let at = from;
  while (at < text.length && !isEndOfWord(text.charCodeAt(at))) at += 1;
  return at;
}

const isEndOfWord = (code: number): boolean =>
  isBlank(code) || code === comma || code === closeBracket || code === closeBrace;
