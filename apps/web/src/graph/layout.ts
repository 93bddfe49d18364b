import dagre from "@dagrejs/dagre";
import type { Graph } from "./role-graph.ts";

/** The size of every node, in pixels. */
export const nodeSize = { width: 190, height: 56 };

/** A place in a drawing, in pixels. */
export type Point = { x: number; y: number };

/** Where everything of a graph stands: each node's left and upper edge, each edge's way and its label. */
export type Layout = {
  nodes: ReadonlyMap<string, Point>;
  edges: readonly { points: readonly Point[]; label: Point }[];
};

/** Lays a graph out from the top down. */
export function layoutOf({ nodes, edges }: Graph): Layout {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 40, ranksep: 56, edgesep: 28 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { ...nodeSize });
  for (const [index, { from, to, label }] of edges.entries()) {
    const width = label ? label.length * 7 + 8 : 8;
    graph.setEdge(from, to, { width, height: 18, labelpos: "c" }, String(index));
  }
  dagre.layout(graph);
  const places = nodes.map(({ id }): [string, Point] => {
    const { x = 0, y = 0 } = graph.node(id);
    return [id, { x: x - nodeSize.width / 2, y: y - nodeSize.height / 2 }];
  });
  const ways = edges.map(({ from, to }, index) => {
    const { points = [], x = 0, y = 0 } = graph.edge(from, to, String(index)) ?? {};
    return { points, label: { x, y } };
  });
  return { nodes: new Map(places), edges: ways };
}

/** The way through some points, with round corners, as the `d` of an SVG path. */
export function pathThrough(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const last = rest.at(-1);
  const pieces = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? point;
    const middle = { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q ${point.x} ${point.y} ${middle.x} ${middle.y}`;
  });
  const end = last ? `L ${last.x} ${last.y}` : "";
  return [`M ${first.x} ${first.y}`, ...pieces, end].join(" ");
}
