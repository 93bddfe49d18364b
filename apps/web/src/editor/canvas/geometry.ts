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

/** Vertical distance between nodes that would otherwise overlap, in drawing coordinates. */
const between = 24;

export type Settled = {
  positions: ReadonlyMap<string, Point>;
  sizes: ReadonlyMap<string, Size>;
};

/**
 * Moves nodes down until none overlap, because the positions in a document ignore the current heights of nodes. A
 * container encloses its content.
 */
export function settled(drawing: Drawing, given: ReadonlyMap<string, Point>): Settled {
  const positions = new Map(given);
  const levels = Map.groupBy(drawing.nodes, ({ parent }) => parent);
  const sizes = new Map<string, Size>();
  const settle = (parent: string | null): Size => {
    const extent = { width: 0, height: 0 };
    let above: Rect[] = [];
    const rects = (levels.get(parent) ?? []).flatMap(({ id }): [string, Rect][] => {
      const [at, size] = [given.get(id), sizes.get(id)];
      return at && size ? [[id, { ...at, ...size }]] : [];
    });
    for (const [id, before] of rects.toSorted(([, one], [, other]) => one.y - other.y)) {
      above = above.filter(({ y, height }) => y + height > before.y);
      const rect = moved(before, above);
      above.push(rect);
      positions.set(id, { x: rect.x, y: rect.y });
      extent.width = Math.max(extent.width, rect.x + rect.width);
      extent.height = Math.max(extent.height, rect.y + rect.height);
    }
    return extent;
  };
  // A container precedes its content, so the reverse order settles the content first.
  for (const node of drawing.nodes.toReversed())
    sizes.set(node.id, node.isContainer ? containerSize(settle(node.id)) : sizeOf(node));
  settle(null);
  return { positions, sizes };
}

function moved(rect: Rect, above: readonly Rect[]): Rect {
  const covered = above.find((one) => overlaps(one, rect));
  return covered ? moved({ ...rect, y: covered.y + covered.height + between }, above) : rect;
}

const containerSize = ({ width: wide, height: high }: Size): Size => ({
  width: Math.max(smallestContainer.width, wide + inset.side),
  height: Math.max(smallestContainer.height, high + inset.bottom),
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
