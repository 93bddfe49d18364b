import type { Rect, Size } from "../../ui/layout.ts";
import {
  type Drawing,
  type DrawnNode,
  noteType,
  type Point,
  type Port,
} from "@uncaged/workflow/editing";

const width = 220;
const head = 44;
const lineHeight = 18;
const portHeight = 22;

/** Padding around the content of a container, in drawing coordinates. */
export const inset = { side: 24, top: 60, bottom: 24 };

/** Left padding of a container's content. The labels of lines into the content need room. */
export const leadOf = ({ isContainer, ports }: DrawnNode): number =>
  isContainer && ports.some(({ role, side }) => role === "out" && side === "left")
    ? inset.side + 80
    : inset.side;

const smallestContainer: Size = { width: 260, height: 140 };

const labelledRows = (ports: readonly Port[]): Port[] =>
  ports.filter(({ side, label }) => (side === "left" || side === "right") && label !== null);

/** Width of a row of text, in letters. */
const letters = 29;
const most = { rowsOfLine: 2, rows: 6 };
const mostOfNote = { rowsOfLine: 12, rows: 24 };

/** The body of a node as rows of text: long lines wrap at words, and a cut text ends with an ellipsis. */
export function rowsOf({ lines, type }: Pick<DrawnNode, "lines" | "type">): string[] {
  const { rowsOfLine, rows } = type === noteType ? mostOfNote : most;
  return lines.flatMap((line) => wrapped(line, rowsOfLine)).slice(0, rows);
}

function wrapped(line: string, longest: number): string[] {
  const rows: string[] = [];
  let rest = line.trim();
  while (rest !== "" && rows.length < longest) {
    const fitting = fitsInto(rest);
    const space = fitting < rest.length ? rest.lastIndexOf(" ", fitting) : -1;
    const end = space > fitting / 2 ? space : fitting;
    rows.push(rest.slice(0, end));
    rest = rest.slice(end).trim();
  }
  const last = rows.length - 1;
  if (rest !== "") rows[last] = `${rows[last] ?? ""}…`;
  return rows;
}

/** The length of the beginning of a text that fits into a row. Wide characters take the room of two letters. */
function fitsInto(text: string): number {
  let [room, length] = [letters, 0];
  for (const character of text) {
    room -= (character.codePointAt(0) ?? 0) >= 0x11_00 ? 2 : 1;
    if (room < 0) break;
    length += character.length;
  }
  return length;
}

/** The height of a node's head and body, above the rows of its ports. */
function bodyHeight(node: DrawnNode): number {
  const rows = node.isContainer ? 0 : rowsOf(node).length;
  return head + (rows > 0 ? rows * lineHeight + 8 : 0);
}

/** The size of a drawn node without its content. */
export function sizeOf(node: DrawnNode): Size {
  const rows = labelledRows(node.ports).length;
  const below = node.ports.some(({ side, label }) => side === "bottom" && label !== null) ? 1 : 0;
  return { width, height: bodyHeight(node) + (rows + below) * portHeight };
}

/** The position of a port, relative to its node. */
export function portAt(node: DrawnNode, size: Size, port: Port): Point {
  if (port.side === "top" || port.side === "bottom") {
    const beside = node.ports.filter(({ side }) => side === port.side);
    const share = (beside.indexOf(port) + 1) / (beside.length + 1);
    return { x: size.width * share, y: port.side === "top" ? 0 : size.height };
  }
  const x = port.side === "left" ? 0 : size.width;
  const row = labelledRows(node.ports).indexOf(port);
  if (row < 0) return { x, y: head / 2 };
  return { x, y: bodyHeight(node) + (row + 0.5) * portHeight };
}

/** The sizes of all nodes. A container encloses its content. */
export function sizesOf(
  { nodes }: Drawing,
  positions: ReadonlyMap<string, Point>,
): Map<string, Size> {
  const sizes = new Map<string, Size>();
  const extents = new Map<string, Size>();
  // A container precedes its content, so the reverse order computes the content first.
  for (const node of nodes.toReversed()) {
    const size = node.isContainer ? containerSize(extents.get(node.id)) : sizeOf(node);
    sizes.set(node.id, size);
    if (node.parent === null) continue;
    const { x, y } = positions.get(node.id) ?? { x: 0, y: 0 };
    const extent = extents.get(node.parent) ?? { width: 0, height: 0 };
    extents.set(node.parent, {
      width: Math.max(extent.width, x + size.width),
      height: Math.max(extent.height, y + size.height),
    });
  }
  return sizes;
}

/** Vertical distance between nodes that would otherwise overlap, in drawing coordinates. */
const between = 24;

/** Moves nodes down until none overlap, because the positions in a document ignore the current heights of nodes. */
export function settled(
  drawing: Drawing,
  positions: ReadonlyMap<string, Point>,
): ReadonlyMap<string, Point> {
  const result = new Map(positions);
  const levels = Map.groupBy(drawing.nodes, ({ parent }) => parent);
  const sizes = new Map<string, Size>();
  const settle = (parent: string | null): Size => {
    const extent = { width: 0, height: 0 };
    let above: Rect[] = [];
    const rects = (levels.get(parent) ?? []).flatMap(({ id }): [string, Rect][] => {
      const [at, size] = [positions.get(id), sizes.get(id)];
      return at && size ? [[id, { ...at, ...size }]] : [];
    });
    for (const [id, given] of rects.toSorted(([, one], [, other]) => one.y - other.y)) {
      above = above.filter(({ y, height }) => y + height > given.y);
      const rect = moved(given, above);
      above.push(rect);
      result.set(id, { x: rect.x, y: rect.y });
      extent.width = Math.max(extent.width, rect.x + rect.width);
      extent.height = Math.max(extent.height, rect.y + rect.height);
    }
    return extent;
  };
  for (const node of drawing.nodes.toReversed())
    sizes.set(node.id, node.isContainer ? containerSize(settle(node.id)) : sizeOf(node));
  settle(null);
  return result;
}

function moved(rect: Rect, above: readonly Rect[]): Rect {
  const covered = above.find((one) => overlaps(one, rect));
  return covered ? moved({ ...rect, y: covered.y + covered.height + between }, above) : rect;
}

const containerSize = (extent: Size | undefined): Size => ({
  width: Math.max(smallestContainer.width, (extent?.width ?? 0) + inset.side),
  height: Math.max(smallestContainer.height, (extent?.height ?? 0) + inset.bottom),
});

/** The bounding rectangle of all rectangles; null without rectangles. */
export function around(rects: Iterable<Rect>): Rect | null {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y, width: wide, height: high } of rects) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x + wide);
    bottom = Math.max(bottom, y + high);
  }
  return left > right ? null : { x: left, y: top, width: right - left, height: bottom - top };
}

export const overlaps = (one: Rect, other: Rect): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

/** The innermost container at a point, except the given containers. */
export function containerAt(
  { nodes }: Drawing,
  rects: ReadonlyMap<string, Rect>,
  { x, y }: Point,
  without: ReadonlySet<string> = new Set(),
): string | null {
  const isOver = ({ id, isContainer }: DrawnNode): boolean => {
    const rect = rects.get(id);
    if (!rect || !isContainer || without.has(id)) return false;
    return x >= rect.x && x <= rect.x + rect.width && y >= rect.y && y <= rect.y + rect.height;
  };
  return nodes.findLast(isOver)?.id ?? null;
}

export type Alignment =
  | "left"
  | "center"
  | "right"
  | "top"
  | "middle"
  | "bottom"
  | "row"
  | "column";

/** The positions of nodes after aligning or distributing them. */
export function aligned(rects: ReadonlyMap<string, Rect>, how: Alignment): Map<string, Point> {
  const all = around(rects.values());
  if (!all) return new Map();
  if (how === "row" || how === "column") return distributed(rects, all, how);
  return new Map(rects.entries().map(([id, rect]) => [id, alignedTo(all, rect, how)]));
}

function alignedTo(all: Rect, { x, y, width: wide, height: high }: Rect, how: Alignment): Point {
  switch (how) {
    case "left":
      return { x: all.x, y };
    case "center":
      return { x: all.x + (all.width - wide) / 2, y };
    case "right":
      return { x: all.x + all.width - wide, y };
    case "top":
      return { x, y: all.y };
    case "middle":
      return { x, y: all.y + (all.height - high) / 2 };
    default:
      return { x, y: all.y + all.height - high };
  }
}

function distributed(
  rects: ReadonlyMap<string, Rect>,
  all: Rect,
  how: "row" | "column",
): Map<string, Point> {
  const [at, length] = how === "row" ? (["x", "width"] as const) : (["y", "height"] as const);
  const ordered = [...rects].toSorted(([, one], [, other]) => one[at] - other[at]);
  const taken = ordered.reduce((sum, [, rect]) => sum + rect[length], 0);
  const gap = (all[length] - taken) / Math.max(1, ordered.length - 1);
  let next = all[at];
  return new Map(
    ordered.map(([id, rect]) => {
      const point = { x: rect.x, y: rect.y, [at]: next };
      next += rect[length] + gap;
      return [id, point];
    }),
  );
}
