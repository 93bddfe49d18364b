import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  type YAMLError,
} from "yaml";
import { messageOf } from "../contract/error.ts";
import { isRounded } from "../contract/exact.ts";
import {
  checkKeys,
  deepestText,
  type DocumentPath,
  type Read,
  roundedNumber,
  Unreadable,
} from "./text.ts";

const mostAliases = 100;

const tooDeep = `it is nested more than ${deepestText} deep`;

/** Parses YAML 1.2 that JSON can represent: replaces aliases by copies of their values, and refuses tags. */
export function readYaml(text: string): Read {
  const document = parsed(text);
  checkNodes(document);
  return { value: valueOf(document), offsetOf: (path) => offsetIn(document, path) };
}

function parsed(text: string): Document {
  const document = parseDocument(text, {
    prettyErrors: false,
    strict: true,
    uniqueKeys: false,
    stringKeys: true,
    logLevel: "error",
  });
  const problem = document.errors[0] ?? document.warnings[0];
  if (problem) throw new Unreadable(problem.pos[0], sentence(problem));
  return document;
}

function sentence({ code, message }: YAMLError): string {
  if (code === "MULTIPLE_DOCS") return "a second document begins here";
  return message.startsWith("Maximum call stack") ? tooDeep : messageOf(message);
}

function checkNodes({ contents }: Document): void {
  const waiting: { node: unknown; depth: number }[] = [{ node: contents, depth: 0 }];
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    const { node, depth } = place;
    if (isScalar(node) && typeof node.value === "number" && !Number.isFinite(node.value)) {
      throw new Unreadable(startOf(node), "JSON can't represent this number");
    }
    if (isScalar(node) && typeof node.value === "number" && isRounded(node.source ?? "")) {
      throw new Unreadable(startOf(node), roundedNumber(node.source ?? ""));
    }
    if (!isMap(node) && !isSeq(node)) continue;
    if (depth >= deepestText) throw new Unreadable(startOf(node), tooDeep);
    if (isMap(node)) checkKeys(node.items.map(({ key }) => [nameOf(key), startOf(key)]));
    const inner = isMap(node) ? node.items.map(({ value }) => value) : node.items;
    for (const one of inner) waiting.push({ node: one, depth: depth + 1 });
  }
}

// Convert through JSON, so that an alias gets its own copy instead of a shared object.
function valueOf(document: Document): unknown {
  try {
    return JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: mostAliases })));
  } catch (error) {
    if (error instanceof RangeError) throw new Unreadable(0, tooDeep);
    if (error instanceof TypeError) throw new Unreadable(0, "an alias contains itself");
    if (!(error instanceof ReferenceError)) throw error;
    const isBomb = error.message.startsWith("Excessive alias count");
    throw new Unreadable(0, isBomb ? "too many aliases" : messageOf(error));
  }
}

function offsetIn(document: Document, path: DocumentPath): number {
  let node: unknown = document.contents;
  let offset = startOf(node);
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) node = node.items.find(({ key }) => nameOf(key) === part)?.value;
    else node = isSeq(node) && typeof part === "number" ? node.items[part] : undefined;
    if (node === undefined || node === null) break;
    offset = startOf(node);
  }
  return offset;
}

const nameOf = (key: unknown): string => String(isScalar(key) ? key.value : key);

const startOf = (node: unknown): number => (node as Partial<Node> | null)?.range?.[0] ?? 0;
