import {
  findNodeAtLocation,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { messageOf } from "../contract/error.ts";
import { roundedIn } from "../contract/exact.ts";
import { show } from "../contract/show.ts";
import {
  checkKeys,
  deepestText,
  type DocumentPath,
  type Read,
  roundedNumber,
  Unreadable,
} from "./text.ts";

/** Parses standard JSON: no comments, no duplicate keys. */
export function readJson(text: string): Read {
  checkDepth(text);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true });
  const [error] = errors;
  if (error) throw new Unreadable(error.offset, sentence(error, text));
  if (!tree) throw new Unreadable(0, "the file is empty");
  checkObjects(tree);
  const rounded = roundedIn(text);
  if (rounded) throw new Unreadable(rounded.offset, roundedNumber(rounded.text));
  return { value: parsed(text), offsetOf: (path) => offsetIn(tree, path) };
}

// Must run before the parsers, which recurse for each level.
function checkDepth(text: string): void {
  let depth = 0;
  for (const { 0: sign, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[[\]{}]/g)) {
    if (sign === "[" || sign === "{") depth += 1;
    else if (sign === "]" || sign === "}") depth -= 1;
    if (depth > deepestText) {
      throw new Unreadable(index, `it is nested more than ${deepestText} deep`);
    }
  }
}

function checkObjects(tree: Node): void {
  const waiting = [tree];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    const children = node.children ?? [];
    if (node.type === "object") {
      const keys = children.flatMap((property) => property.children?.[0] ?? []);
      checkKeys(keys.map(({ value, offset }) => [String(value), offset]));
    }
    for (const child of children) if (child.children) waiting.push(child);
  }
}

// A value made from the syntax tree would have the value of `__proto__` as its prototype.
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Unreadable(0, messageOf(error));
  }
}

function offsetIn(tree: Node, path: DocumentPath): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = findNodeAtLocation(tree, path.slice(0, length));
    if (node) return node.offset;
  }
  return tree.offset;
}

const expected: Readonly<Record<string, string>> = {
  PropertyNameExpected: "a key in double quotes is expected",
  ValueExpected: "a value is expected",
  ColonExpected: 'a ":" is expected',
  CommaExpected: 'a "," or the end of the object or array is expected',
  CloseBraceExpected: 'a "}" is expected',
  CloseBracketExpected: 'a "]" is expected',
  EndOfFileExpected: "the end of the file is expected",
  InvalidSymbol: "a value is expected",
  InvalidNumberFormat: "a number is expected",
  InvalidCommentToken: "JSON without comments is expected",
  UnexpectedEndOfComment: "JSON without comments is expected",
  UnexpectedEndOfString: 'a string with a closing " on the same line is expected',
  UnexpectedEndOfNumber: "a complete number is expected",
  InvalidUnicode: "\\u and four hexadecimal digits are expected",
  InvalidEscapeCharacter: "an escape sequence of JSON is expected",
  InvalidCharacter: "an escaped control character is expected",
};

function sentence({ error, offset, length }: ParseError, text: string): string {
  const what = expected[printParseErrorCode(error)] ?? "valid JSON is expected";
  if (offset >= text.trimEnd().length) return `${what}, and the file ends here`;
  return `${what}, not ${show(text.slice(offset, offset + Math.min(length, 20)))}`;
}
