import dagre from "@dagrejs/dagre";
import type { Graph } from "./graph.ts";

export const nodeSize = { width: 190, height: 56 };

export type Point = { x: number; y: number };

/** Positions: the upper left corner of each node, the route and label of each edge. */
export type Layout = {
  nodes: ReadonlyMap<string, Point>;
  edges: readonly { points: readonly Point[]; label: Point }[];
};

export function layoutOf({ nodes, edges }: Graph): Layout {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 40, ranksep: 56, edgesep: 28 });
  graph.setDefaultEdgeLabel(() => ({}));
  // Numeric keys: dagre looks names up in plain objects, and a role may be called `constructor`.
  const keys = new Map(nodes.map(({ id }, index) => [id, String(index)]));
  const keyOf = (id: string): string => keys.get(id) ?? "";
  for (const key of keys.values()) graph.setNode(key, { ...nodeSize });
  for (const [index, { from, to, label }] of edges.entries()) {
    const width = label ? label.length * 7 + 8 : 8;
    const size = { width, height: 18, labelpos: "c" };
    graph.setEdge(keyOf(from), keyOf(to), size, String(index));
  }
  dagre.layout(graph);
  const positions = nodes.map(({ id }): [string, Point] => {
    const { x = 0, y = 0 } = graph.node(keyOf(id));
    return [id, { x: x - nodeSize.width / 2, y: y - nodeSize.height / 2 }];
  });
  const routes = edges.map(({ from, to }, index) => {
    if (from === to) return loopAt(graph.node(keyOf(from)) as Point);
    const { points = [], x = 0, y = 0 } = graph.edge(keyOf(from), keyOf(to), String(index)) ?? {};
    return { points, label: { x, y } };
  });
  return { nodes: new Map(positions), edges: routes };
}

const loop = { reach: 28, half: 16 };

/** The route from the right side of a node back to it. The layout's own route would not touch the node. */
function loopAt({ x, y }: Point): Layout["edges"][number] {
  const side = x + nodeSize.width / 2;
  const out = side + loop.reach;
  const [above, below] = [y - loop.half, y + loop.half];
  return {
    points: [
      { x: side, y: above },
      { x: out, y: above },
      { x: out, y: below },
      { x: side, y: below },
    ],
    label: { x: out, y },
  };
}
