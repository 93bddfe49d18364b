import { isRecord } from "./json.ts";
import type { Sliced } from "./slices.ts";
import { filePathOf, isTruncated } from "./values.ts";

type Range = { from: number; to: number };

/** A value in a tree, or a range of the members of a long container. */
export type JsonNode = {
  /** Identifies the node in its tree. */
  id: string;
  /** The name or index in the parent; null at the root. */
  name: string | null;
  value: unknown;
  depth: number;
  parent: JsonNode | null;
  /** Start (inclusive) and end (exclusive) of the range of members; null for a value. */
  range: Range | null;
  /** The position among its siblings from 1, and their number. */
  position: number;
  siblings: number;
};

/** Maximum number of children of a node. Longer containers show ranges. */
const mostChildren = 1_000;

/** Maximum number of characters of an unfolded text. Texts of several lines are always folded. */
const longestLine = 160;

export const rootOf = (value: unknown): JsonNode => ({
  ...{ id: "", name: null, value, depth: 0, parent: null, range: null },
  ...{ position: 1, siblings: 1 },
});

const names = new WeakMap<object, readonly string[]>();

/** The names of an object's members. */
function namesIn(value: object): readonly string[] {
  let known = names.get(value);
  if (!known) names.set(value, (known = Object.keys(value)));
  return known;
}

/** The number of members of a container; 0 for other values, file values and truncated values. */
export function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  const isContainer = isRecord(value) && !isTruncated(value) && filePathOf(value) === null;
  return isContainer ? namesIn(value).length : 0;
}

export const isLongText = (value: unknown): value is string =>
  typeof value === "string" && (value.length > longestLine || value.includes("\n"));

/** Tells whether a node has content to unfold. */
export const canOpen = ({ value, range }: JsonNode): boolean =>
  range !== null || sizeOf(value) > 0 || isLongText(value) || isTruncated(value);

const made = new WeakMap<JsonNode, readonly JsonNode[]>();

/** The children of a node. Repeated calls return the same objects. */
export function childrenOf(node: JsonNode): readonly JsonNode[] {
  const known = made.get(node);
  if (known) return known;
  const children = makeChildren(node);
  made.set(node, children);
  return children;
}

function makeChildren(node: JsonNode): JsonNode[] {
  const { id, value, depth, range } = node;
  const { from, to } = range ?? { from: 0, to: sizeOf(value) };
  const width = widthOf(to - from);
  const siblings = Math.ceil((to - from) / width);
  return Array.from({ length: siblings }, (_, index): JsonNode => {
    const at = from + index * width;
    const common = { depth: depth + 1, parent: node, position: index + 1, siblings };
    if (width > 1) {
      const end = Math.min(to, at + width);
      const part = { from: at, to: end };
      // A name is escaped, and so never starts with "~r".
      return { ...common, id: `${id}/~r${at}`, name: `${at} … ${end - 1}`, value, range: part };
    }
    const name = Array.isArray(value) ? String(at) : (namesIn(value as object)[at] ?? "");
    const member = (value as Record<string, unknown>)[name];
    return { ...common, id: `${id}/${escaped(name)}`, name, value: member, range: null };
  });
}

/** The number of members in each child of a node with `count` members. */
function widthOf(count: number): number {
  let width = 1;
  while (count / width > mostChildren) width *= mostChildren;
  return width;
}

const escaped = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** The path of a node as an expression: `items[3].name`. */
export function pathOf(node: JsonNode): string {
  const parts: string[] = [];
  for (let one: JsonNode | null = node; one?.parent; one = one.parent) {
    const { name, range, parent } = one;
    if (range !== null || name === null) continue;
    if (Array.isArray(parent.value)) parts.unshift(`[${name}]`);
    else if (/^[A-Za-z_$][\w$]*$/.test(name)) parts.unshift(`.${name}`);
    else parts.unshift(`[${JSON.stringify(name)}]`);
  }
  return parts.join("").replace(/^\./, "");
}

/** The visible nodes: the children of the root and of open nodes. A root without members is visible itself. */
export function visibleIn(root: JsonNode, open: ReadonlySet<string>): JsonNode[] {
  if (sizeOf(root.value) === 0) return [root];
  const visible: JsonNode[] = [];
  const left = childrenOf(root).toReversed();
  for (let node = left.pop(); node; node = left.pop()) {
    visible.push(node);
    if (!open.has(node.id) || isLongText(node.value)) continue;
    const children = childrenOf(node);
    for (let at = children.length - 1; at >= 0; at -= 1) left.push(children[at] as JsonNode);
  }
  return visible;
}

/** Limits of the nodes that are open at first: the number of visible nodes, and the length of a text. */
const fewAtFirst = { nodes: 24, letters: 1_000 };
const allAtFirst = { nodes: 2_000, letters: 20_000 };

/** The ids of the nodes that are open at first: as many as fit on a small screen, or all unless they are very long. */
export function openAtFirst(root: JsonNode, isAll: boolean): Set<string> {
  const most = isAll ? allAtFirst : fewAtFirst;
  const open = new Set<string>();
  let visible = sizeOf(root.value);
  const left = visible > most.nodes ? [] : [...childrenOf(root)];
  if (isLongText(root.value)) open.add(root.id);
  for (let node = left.shift(); node; node = left.shift()) {
    const { id, value } = node;
    if (isLongText(value) && value.length <= most.letters) open.add(id);
    const size = sizeOf(value);
    if (size === 0 || visible + size > most.nodes) continue;
    visible += size;
    open.add(id);
    left.push(...childrenOf(node));
  }
  return open;
}

/** The node at the indexes of members, one for each level below the root. */
export function nodeAt(root: JsonNode, indexes: readonly number[]): JsonNode | null {
  let node: JsonNode | undefined = root;
  for (const index of indexes) {
    do {
      const { from, to }: Range = node.range ?? { from: 0, to: sizeOf(node.value) };
      node = childrenOf(node)[Math.floor((index - from) / widthOf(to - from))];
      if (!node) return null;
    } while (node.range);
  }
  return node;
}

/** The ids of the nodes around a node. */
export function around(node: JsonNode): string[] {
  const ids: string[] = [];
  for (let one = node.parent; one; one = one.parent) ids.push(one.id);
  return ids;
}

/** Maximum number of matches. */
const mostMatches = 1_000;

/** Finds the members whose name or value contains a text, ignoring case. Returns the indexes of each. */
export function* finding(value: unknown, text: string): Sliced<number[][]> {
  const pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  const found: number[][] = [];
  const levels: { of: object; at: number }[] = [];
  if (typeof value === "object" && value !== null) levels.push({ of: value, at: -1 });
  for (let level = levels.at(-1); level && found.length < mostMatches; level = levels.at(-1)) {
    level.at += 1;
    if (level.at % 256 === 0) yield;
    if (level.at >= sizeOf(level.of)) {
      levels.pop();
      continue;
    }
    const isList = Array.isArray(level.of);
    const name = isList ? String(level.at) : (namesIn(level.of)[level.at] ?? "");
    const member = (level.of as Record<string, unknown>)[name];
    const isContainer = typeof member === "object" && member !== null;
    if ((!isList && pattern.test(name)) || (!isContainer && pattern.test(plainOf(member))))
      found.push(levels.map(({ at }) => at));
    if (isContainer) levels.push({ of: member, at: -1 });
  }
  return found;
}

const plainOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

const longestPreview = 120;
const mostInPreview = 8;
const deepestPreview = 3;

/** A value in one short line. */
export function previewOf(value: unknown, depth = 0): string {
  if (typeof value === "string") return JSON.stringify(cut(value));
  if (typeof value !== "object" || value === null) return String(value);
  const size = sizeOf(value);
  const isList = Array.isArray(value);
  const [open, close] = isList ? "[]" : "{}";
  if (size === 0) return `${open}${close}`;
  if (depth >= deepestPreview) return `${open}…${close}`;
  const parts: string[] = [];
  let length = 0;
  for (let at = 0; at < size && at < mostInPreview && length < longestPreview; at += 1) {
    const name = isList ? String(at) : (namesIn(value)[at] ?? "");
    const member = previewOf((value as Record<string, unknown>)[name], depth + 1);
    const part = isList ? member : `${cut(name)}: ${member}`;
    length += part.length;
    parts.push(part);
  }
  if (parts.length < size) parts.push("…");
  return `${open}${parts.join(", ")}${close}`;
}

const cut = (text: string): string =>
  text.length > longestPreview ? `${text.slice(0, longestPreview)}…` : text;
