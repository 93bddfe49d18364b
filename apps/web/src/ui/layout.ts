import dagre from "@dagrejs/dagre";

export type Point = { readonly x: number; readonly y: number };
export type Size = { width: number; height: number };
export type Rect = Point & Size;

type LayoutNode = {
  id: string;
  /** The container of the node; null at the top level. A container precedes its nodes. */
  parent: string | null;
  isContainer: boolean;
  /** The size of the node; the minimum size of a container. */
  size: Size;
  /** Left padding of a container's content; by default the padding in `inset`. */
  lead?: number;
};

/** Input of a layout, which may run in a worker. */
export type LayoutTask = {
  nodes: readonly LayoutNode[];
  /** Lines, with the room for their labels. */
  edges: readonly { source: string; target: string; room?: Size }[];
  /** Whether lines run from left to right instead of top to bottom. */
  isWide: boolean;
  /** Distances between nodes and between ranks. */
  gap: { node: number; rank: number };
  /** Padding around the content of a container. */
  inset: { side: number; top: number; bottom: number };
};

/** The route of a line, relative to the container around both ends. */
export type Route = {
  /** Index in the task's edges. */
  edge: number;
  /** The ends, which may be the containers around the line's own ends. */
  source: string;
  target: string;
  around: string | null;
  points: readonly Point[];
  label: Point;
};

/** The boxes of the nodes, relative to their containers, with the routes of lines and the size of the drawing. */
export type LayoutResult = {
  boxes: readonly (readonly [string, Rect])[];
  routes: readonly Route[];
  size: Size;
};

/** Maximum number of nodes in a level for dagre, which would take seconds for more. */
const mostForDagre = 400;

/** Number of nodes in a row of a level that is too large for dagre. */
const rowLength = 20;

type Line = { edge: number; source: string; target: string; room: Size | undefined };

type Level = { ids: string[]; lines: Line[] };

/**
 * Places all nodes. Containers are laid out inside out: first their content, then each as one node of its parent level.
 * A line between nodes of different levels connects their ancestors on the nearest common level.
 */
export function layoutOf(task: LayoutTask): LayoutResult {
  const { nodes, inset } = task;
  const levels = levelsOf(task);
  const sizes = new Map(nodes.map(({ id, size }) => [id, size]));
  const boxes: [string, Rect][] = [];
  const routes: Route[] = [];
  const place = (around: string | null, shift: Point): Size => {
    const level = levels.get(around) ?? { ids: [], lines: [] };
    const shifted = ({ x, y }: Point) => ({ x: x + shift.x, y: y + shift.y });
    const placed = placeLevel(level, sizes, task);
    for (const [id, box] of placed.boxes) boxes.push([id, { ...box, ...shifted(box) }]);
    for (const { points, label, ...line } of placed.routes)
      routes.push({ ...line, around, points: points.map(shifted), label: shifted(label) });
    return placed.size;
  };
  for (const { id, isContainer, size, lead = inset.side } of nodes.toReversed()) {
    // dagre has no size for a graph without nodes.
    if (!isContainer || !levels.has(id)) continue;
    const content = place(id, { x: lead, y: inset.top });
    sizes.set(id, {
      width: Math.max(size.width, content.width + lead + inset.side),
      height: content.height + inset.top + inset.bottom,
    });
  }
  const size = nodes.length === 0 ? { width: 0, height: 0 } : place(null, { x: 0, y: 0 });
  return { size, boxes, routes };
}

function levelsOf({ nodes, edges }: LayoutTask): Map<string | null, Level> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const levels = new Map<string | null, Level>();
  const levelOf = (parent: string | null): Level => {
    const level = levels.get(parent) ?? { ids: [], lines: [] };
    levels.set(parent, level);
    return level;
  };
  for (const { id, parent } of nodes) levelOf(parent).ids.push(id);
  const chainOf = (id: string): LayoutNode[] => {
    const chain: LayoutNode[] = [];
    for (let node = byId.get(id); node; node = byId.get(node.parent ?? "")) chain.unshift(node);
    return chain;
  };
  for (const [edge, { source, target, room }] of edges.entries()) {
    const [from, to] = [chainOf(source), chainOf(target)];
    const isLoop = source === target;
    const depth = isLoop ? from.length - 1 : from.findIndex(({ id }, at) => to[at]?.id !== id);
    const [one, other] = [from[depth], to[depth]];
    if (one && other)
      levelOf(one.parent).lines.push({ edge, source: one.id, target: other.id, room });
  }
  return levels;
}

type Sizes = ReadonlyMap<string, Size>;
type Placed = {
  boxes: (readonly [string, Rect])[];
  routes: Omit<Route, "around">[];
  size: Size;
};

function placeLevel({ ids, lines }: Level, sizes: Sizes, task: LayoutTask): Placed {
  const { gap, isWide } = task;
  const sizeFor = (id: string): Size => sizes.get(id) ?? { width: 0, height: 0 };
  if (ids.length > mostForDagre) return placeInRows({ ids, lines }, sizeFor, task);
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({
    ...{ rankdir: isWide ? "LR" : "TB", nodesep: gap.node, ranksep: gap.rank, edgesep: 28 },
    ranker: ids.length > 150 ? "longest-path" : "network-simplex",
  });
  // Numeric keys: dagre looks names up in plain objects, and a node may be called `constructor`.
  const keys = new Map(ids.map((id, index) => [id, String(index)]));
  const keyOf = (id: string): string => keys.get(id) ?? "";
  for (const id of ids) graph.setNode(keyOf(id), { ...sizeFor(id) });
  for (const { edge, source, target, room } of lines)
    graph.setEdge(keyOf(source), keyOf(target), { ...room, labelpos: "c" }, String(edge));
  dagre.layout(graph);
  const boxes = new Map(
    ids.map((id) => {
      const { x = 0, y = 0 } = graph.node(keyOf(id));
      const { width, height } = sizeFor(id);
      const at = { x: Math.round(x - width / 2), y: Math.round(y - height / 2) };
      return [id, { ...at, width, height }];
    }),
  );
  const routes = routesOf(lines, boxes, ({ edge, source, target }) => {
    const { points = [], x = 0, y = 0 } = graph.edge(keyOf(source), keyOf(target), String(edge));
    return { points, label: { x, y } };
  });
  const { width = 0, height = 0 } = graph.graph();
  return { boxes: [...boxes], routes, size: { width, height } };
}

type Course = Pick<Route, "points" | "label">;

const routesOf = (
  lines: readonly Line[],
  boxes: ReadonlyMap<string, Rect>,
  courseOf: (line: Line, from: Rect, to: Rect) => Course,
): Placed["routes"] =>
  lines.flatMap((line) => {
    const { edge, source, target } = line;
    const [from, to] = [boxes.get(source), boxes.get(target)];
    if (!from || !to) return [];
    return { edge, source, target, ...(from === to ? loopAt(from) : courseOf(line, from, to)) };
  });

/** The route from the right side of a node back to it. The layout's own route would not touch the node. */
function loopAt({ x, y, width, height }: Rect): Course {
  const [side, out] = [x + width, x + width + 28];
  const middle = y + height / 2;
  const corners = [
    [side, middle - 16],
    [out, middle - 16],
    [out, middle + 16],
    [side, middle + 16],
  ] as const;
  return { points: corners.map((at) => ({ x: at[0], y: at[1] })), label: { x: out, y: middle } };
}

/** Places nodes in rows in document order, in linear time. */
function placeInRows(
  { ids, lines }: Level,
  sizeFor: (id: string) => Size,
  { gap, isWide }: LayoutTask,
): Placed {
  const [along, across] = isWide ? (["x", "y"] as const) : (["y", "x"] as const);
  const [depth, breadth] = isWide ? (["width", "height"] as const) : (["height", "width"] as const);
  const boxes: [string, Rect][] = [];
  let [start, most] = [0, 0];
  for (let index = 0; index < ids.length; index += rowLength) {
    const row = ids.slice(index, index + rowLength);
    let next = 0;
    for (const id of row) {
      boxes.push([id, { x: 0, y: 0, ...sizeFor(id), [along]: start, [across]: next }]);
      next += sizeFor(id)[breadth] + gap.node;
      most = Math.max(most, next - gap.node);
    }
    start += Math.max(...row.map((id) => sizeFor(id)[depth])) + gap.rank;
  }
  const end = Math.max(0, start - gap.rank);
  const size = isWide ? { width: end, height: most } : { width: most, height: end };
  const middleOf = ({ x, y, width, height }: Rect) => ({ x: x + width / 2, y: y + height / 2 });
  const routes = routesOf(lines, new Map(boxes), (_, from, to) => {
    const first = { ...middleOf(from), [along]: from[along] + from[depth] };
    const last = { ...middleOf(to), [along]: to[along] };
    const label = { x: (first.x + last.x) / 2, y: (first.y + last.y) / 2 };
    return { points: [first, last], label };
  });
  return { boxes, routes, size };
}

/** The nodes as rectangles in drawing coordinates, in their order. */
export function rectsOf(
  nodes: readonly Pick<LayoutNode, "id" | "parent">[],
  positions: ReadonlyMap<string, Point>,
  sizes: ReadonlyMap<string, Size>,
): Map<string, Rect> {
  const rects = new Map<string, Rect>();
  for (const { id, parent } of nodes) {
    const { x, y } = positions.get(id) ?? { x: 0, y: 0 };
    const outer = parent === null ? undefined : rects.get(parent);
    const size = sizes.get(id) ?? { width: 0, height: 0 };
    rects.set(id, { ...size, x: x + (outer?.x ?? 0), y: y + (outer?.y ?? 0) });
  }
  return rects;
}
