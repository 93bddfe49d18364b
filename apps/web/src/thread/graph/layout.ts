import dagre from "@dagrejs/dagre";
import type { Graph, GraphEdge, GraphNode } from "./graph.ts";

export const nodeSize = { width: 190, height: 56 };

export type Point = { x: number; y: number };
export type Box = Point & { width: number; height: number };

/** Positions: the box of each node, the route and label of each drawn edge. */
export type Layout = {
  nodes: ReadonlyMap<string, Box>;
  edges: readonly { edge: GraphEdge; points: readonly Point[]; label: Point }[];
  size: { width: number; height: number };
};

/** The space around the nodes in a box, with its name above them. */
const inset = { side: 20, top: 44, bottom: 20 };

/** Places the nodes of each box, from the inside out. An edge into or out of a box leads to the box itself. */
export function layoutOf({ nodes, edges }: Graph): Layout {
  const parents = new Map(nodes.map(({ id, parent }) => [id, parent]));
  const drawn = edges.flatMap((edge) => {
    const ends = siblingsOf(edge, parents);
    return ends ? [{ edge, ...ends }] : [];
  });
  const byParent = Map.groupBy(nodes, ({ parent }) => parent);
  const place = (parent: string | null): Layout => {
    const own = byParent.get(parent) ?? [];
    const inner = new Map(
      own.filter(({ isGroup }) => isGroup).map(({ id }) => [id, place(id)] as const),
    );
    const within = drawn.filter(({ around }) => around === parent);
    return placed(own, within, inner);
  };
  return place(null);
}

type Drawn = { edge: GraphEdge; from: string; to: string; around: string | null };

/** The ends of an edge, or the boxes around them, in their closest common box. Null between a box and its own node. */
function siblingsOf(
  { from, to }: GraphEdge,
  parents: ReadonlyMap<string, string | null>,
): Omit<Drawn, "edge"> | null {
  const [outer, inner] = [chainOf(from, parents), chainOf(to, parents)];
  let depth = 0;
  while (outer[depth] === inner[depth] && depth < Math.min(outer.length, inner.length) - 1)
    depth += 1;
  const [a, b] = [outer[depth], inner[depth]];
  if (a === undefined || b === undefined || (a === b && from !== to)) return null;
  return { from: a, to: b, around: parents.get(a) ?? null };
}

/** A node after the boxes around it, outermost first. */
function chainOf(id: string, parents: ReadonlyMap<string, string | null>): string[] {
  const chain: string[] = [];
  for (let one: string | null = id; one !== null && !chain.includes(one); )
    one = parents.get(chain[chain.push(one) - 1] ?? "") ?? null;
  return chain.toReversed();
}

function placed(
  own: readonly GraphNode[],
  within: readonly Drawn[],
  inner: ReadonlyMap<string, Layout>,
): Layout {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 40, ranksep: 56, edgesep: 28 });
  graph.setDefaultEdgeLabel(() => ({}));
  // Numeric keys: dagre looks names up in plain objects, and a role may be called `constructor`.
  const keys = new Map(own.map(({ id }, index) => [id, String(index)]));
  const keyOf = (id: string): string => keys.get(id) ?? "";
  for (const { id } of own) graph.setNode(keyOf(id), sizeOf(inner.get(id)));
  for (const [index, { edge, from, to }] of within.entries()) {
    const width = edge.label ? edge.label.length * 7 + 8 : 8;
    const size = { width, height: 18, labelpos: "c" };
    graph.setEdge(keyOf(from), keyOf(to), size, String(index));
  }
  dagre.layout(graph);
  const boxes = new Map<string, Box>();
  const edges: Layout["edges"][number][] = [];
  for (const { id } of own) {
    const { x = 0, y = 0, width = 0, height = 0 } = graph.node(keyOf(id));
    const box = { x: x - width / 2, y: y - height / 2, width, height };
    boxes.set(id, box);
    const content = inner.get(id);
    if (!content) continue;
    const shift = (point: Point) => ({
      x: point.x + box.x + inset.side,
      y: point.y + box.y + inset.top,
    });
    for (const [key, each] of content.nodes) boxes.set(key, { ...each, ...shift(each) });
    edges.push(
      ...content.edges.map(({ edge, points, label }) => {
        return { edge, points: points.map(shift), label: shift(label) };
      }),
    );
  }
  for (const [index, { edge, from, to }] of within.entries()) {
    if (from === to) {
      edges.push({ edge: { ...edge, from, to }, ...loopAt(boxes.get(from) as Box) });
      continue;
    }
    const { points = [], x = 0, y = 0 } = graph.edge(keyOf(from), keyOf(to), String(index)) ?? {};
    edges.push({ edge: { ...edge, from, to }, points, label: { x, y } });
  }
  const { width = 0, height = 0 } = graph.graph();
  return { nodes: boxes, edges, size: { width, height } };
}

const sizeOf = (content: Layout | undefined) =>
  content
    ? {
        width: Math.max(nodeSize.width, content.size.width + 2 * inset.side),
        height: content.size.height + inset.top + inset.bottom,
      }
    : { ...nodeSize };

const loop = { reach: 28, half: 16 };

/** The route from the right side of a node back to it. The layout's own route would not touch the node. */
function loopAt({ x, y, width, height }: Box): Pick<Layout["edges"][number], "points" | "label"> {
  const side = x + width;
  const out = side + loop.reach;
  const middle = y + height / 2;
  return {
    points: [
      { x: side, y: middle - loop.half },
      { x: out, y: middle - loop.half },
      { x: out, y: middle + loop.half },
      { x: side, y: middle + loop.half },
    ],
    label: { x: out, y: middle },
  };
}
