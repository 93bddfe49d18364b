import type { DocumentPath } from "../document/text.ts";
import type { Change } from "./editing.ts";
import { isSame } from "./parts.ts";
import { deepest, type TextNode, treeOf } from "./tree.ts";

/** One replaced part of a text. `offset` refers to the text before the edit; edits do not overlap. */
export type TextEdit = { offset: number; removed: string; inserted: string };

/** Returns the text after the edits. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const pieces: string[] = [];
  let from = 0;
  for (const { offset, removed, inserted } of edits) {
    pieces.push(text.slice(from, offset), inserted);
    from = offset + removed.length;
  }
  pieces.push(text.slice(from));
  return pieces.join("");
}

/** Returns the edits that undo `edits`. */
export function inverseOf(edits: readonly TextEdit[]): TextEdit[] {
  let grown = 0;
  return edits.map(({ offset, removed, inserted }) => {
    const inverse = { offset: offset + grown, removed: inserted, inserted: removed };
    grown += inserted.length - removed.length;
    return inverse;
  });
}

/** The planned changes of a container. Indexes refer to its children before the edit. */
type Plan = {
  removed: Set<number>;
  inserted: { at: number; key: string | null; value: unknown }[];
};

/**
 * Returns the edits of a JSON text that make the changes and keep the rest byte for byte. Parses the text once for any
 * number of changes.
 */
export function editsOf(text: string, changes: readonly Change[]): TextEdit[] {
  const root = treeOf(text);
  if (!root) return [];
  const style = styleOf(text);
  const plans = new Map<TextNode, Plan>();
  const replaced = new Map<TextNode, unknown>();
  for (const change of changes) planChange(root, change, plans, replaced);
  const edits = [
    ...[...replaced].flatMap(([node, value]) => replacement(text, style, node, value)),
    ...[...plans].flatMap(([node, plan]) => containerEdits(text, style, node, plan)),
  ];
  return withoutNested(edits).map(shortened);
}

/** Trims the common start and end of the removed and inserted text, so that typing into a long text is a small edit. */
function shortened({ offset, removed, inserted }: TextEdit): TextEdit {
  const most = Math.min(removed.length, inserted.length);
  let start = 0;
  while (start < most && removed[start] === inserted[start]) start += 1;
  let end = 0;
  while (end < most - start && removed.at(-1 - end) === inserted.at(-1 - end)) end += 1;
  return {
    offset: offset + start,
    removed: removed.slice(start, removed.length - end),
    inserted: inserted.slice(start, inserted.length - end),
  };
}

function planChange(
  root: TextNode,
  { path, value, insert }: Change,
  plans: Map<TextNode, Plan>,
  replaced: Map<TextNode, unknown>,
): void {
  const { node, depth } = deepest(root, path);
  const planFor = (container: TextNode): Plan => {
    const plan = plans.get(container) ?? { removed: new Set(), inserted: [] };
    plans.set(container, plan);
    return plan;
  };
  if (depth === path.length && !(insert && node.parent?.type === "array")) {
    if (value !== undefined || node === root) return void replaced.set(node, value ?? null);
    const child = node.parent?.type === "property" ? node.parent : node;
    const container = child.parent;
    const index = container?.children.indexOf(child) ?? -1;
    if (container && index >= 0) planFor(container).removed.add(index);
    return;
  }
  if (value === undefined) return;
  const container = depth === path.length ? node.parent : node;
  const key = path[Math.min(depth, path.length - 1)];
  const rest = path.slice(depth + 1);
  if (container?.type === "array" && typeof key === "number") {
    const at = Math.min(key, container.children.length);
    planFor(container).inserted.push({ at, key: null, value: wrapped(rest, value) });
  } else if (container?.type === "object") {
    addKey(planFor(container), container.children.length, String(key), rest, value);
  } else if (container) {
    replaced.set(container, wrapped(path.slice(depth), value));
  }
}

/** Adds a key. Two changes below the same missing object create one object. */
function addKey(plan: Plan, at: number, key: string, rest: DocumentPath, value: unknown): void {
  const before = plan.inserted.find((one) => one.key === key);
  if (!before) plan.inserted.push({ at, key, value: wrapped(rest, value) });
  else before.value = merged(before.value, rest, value);
}

const wrapped = (path: DocumentPath, value: unknown): unknown =>
  path.reduceRight<unknown>(
    (inner, key) => (typeof key === "number" ? [inner] : Object.fromEntries([[key, inner]])),
    value,
  );

function merged(into: unknown, [key, ...rest]: DocumentPath, value: unknown): unknown {
  if (key === undefined || typeof into !== "object" || into === null) {
    return wrapped(key === undefined ? [] : [key, ...rest], value);
  }
  if (Array.isArray(into)) return [...into, wrapped(rest, value)];
  const entries = Object.entries(into).filter(([name]) => name !== String(key));
  const own = Object.entries(into).find(([name]) => name === String(key));
  return Object.fromEntries([...entries, [String(key), merged(own?.[1], rest, value)]]);
}

type Style = { isPretty: boolean; unit: string; eol: string };

function styleOf(text: string): Style {
  const isPretty = text.trim().includes("\n") || text.trim().length <= 2;
  return {
    isPretty,
    unit: /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ",
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}

const written = (value: unknown, { isPretty, unit, eol }: Style, indent: string): string =>
  isPretty
    ? JSON.stringify(value, null, unit).replaceAll("\n", `${eol}${indent}`)
    : JSON.stringify(value);

/** Returns the indentation of the line at an offset. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function replacement(text: string, style: Style, node: TextNode, value: unknown): TextEdit[] {
  const removed = text.slice(node.offset, node.end);
  if (isSame(JSON.parse(removed), value)) return [];
  const isInline = node.children.length > 0 && !removed.includes("\n");
  const own = isInline ? { ...style, isPretty: false } : style;
  const inserted = written(value, own, indentAt(text, node.offset));
  return [{ offset: node.offset, removed, inserted }];
}

function containerEdits(text: string, style: Style, container: TextNode, plan: Plan): TextEdit[] {
  const children = container.children;
  const kept = children
    .keys()
    .filter((index) => !plan.removed.has(index))
    .toArray();
  const look = lookOf(text, style, container);
  const itemsIn = (after: number, upTo: number): string[] =>
    plan.inserted
      .filter(({ at }) => at > after && at <= upTo)
      .toSorted((one, other) => one.at - other.at)
      .map(look.write);
  if (kept.length === 0) return [interior(text, container, itemsIn(-1, Infinity), look)];
  const edit = (offset: number, end: number, inserted: string): TextEdit[] =>
    end > offset || inserted !== "" ? [{ offset, removed: text.slice(offset, end), inserted }] : [];
  const [first = 0] = kept;
  const start = children[0]?.offset ?? 0;
  const head = itemsIn(-1, first).map((item) => item + look.separator);
  const gaps = kept.flatMap((index, position) => {
    const next = kept[position + 1] ?? Infinity;
    const from = children[index]?.end ?? 0;
    const last = Math.min(next, children.length) - 1;
    const items = itemsIn(index, next).map((item) => look.separator + item);
    return edit(from, children[last]?.end ?? 0, items.join(""));
  });
  return [...edit(start, children[first]?.offset ?? start, head.join("")), ...gaps];
}

type Look = {
  separator: string;
  /** Whitespace after the opening bracket. */
  before: string;
  /** Whitespace before the closing bracket. */
  after: string;
  write: (item: Plan["inserted"][number]) => string;
};

/** Returns the format of a container's new items: like its existing items, else like the rest of the text. */
function lookOf(text: string, style: Style, container: TextNode): Look {
  const [first, second] = container.children;
  const outer = indentAt(text, container.offset);
  const inner = first ? text.slice(container.offset + 1, first.offset) : null;
  const isPretty = inner === null ? style.isPretty : inner.includes("\n");
  const indent = isPretty && first ? indentAt(text, first.offset) : outer + style.unit;
  const before = inner ?? (isPretty ? style.eol + indent : "");
  const between = first && second ? text.slice(first.end, second.offset) : "";
  const isPlain = /^\s*,\s*$/.test(between);
  const pair = first?.type === "property" ? first.children : undefined;
  const colon = pair?.[0] && pair[1] ? text.slice(pair[0].end, pair[1].offset) : null;
  const own = { ...style, isPretty };
  return {
    separator: isPlain ? between : isPretty ? `,${style.eol}${indent}` : ",",
    before,
    after: isPretty ? style.eol + outer : "",
    write: ({ key, value }) =>
      (key === null ? "" : JSON.stringify(key) + (colon ?? (isPretty ? ": " : ":"))) +
      written(value, own, indent),
  };
}

function interior(
  text: string,
  container: TextNode,
  items: readonly string[],
  look: Look,
): TextEdit {
  const offset = container.offset + 1;
  const removed = text.slice(offset, container.end - 1);
  const inserted = items.length === 0 ? "" : look.before + items.join(look.separator) + look.after;
  return { offset, removed, inserted };
}

/** Sorts edits by position and drops edits inside replaced or removed parts. */
function withoutNested(edits: readonly TextEdit[]): TextEdit[] {
  const ordered = edits.toSorted(
    (one, other) => one.offset - other.offset || other.removed.length - one.removed.length,
  );
  let end = -1;
  return ordered.filter(({ offset, removed }) => {
    if (offset < end) return false;
    end = Math.max(end, offset + removed.length);
    return true;
  });
}
