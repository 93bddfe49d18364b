import dagre from "@dagrejs/dagre";
import type { Graph } from "./role-graph.ts";

/** The size of every node, in pixels. */
export const nodeSize = { width: 190, height: 56 };

/** Where each node stands, by its id: the left and upper edge. */
export function placesOf({ nodes, edges }: Graph): Map<string, { x: number; y: number }> {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 36, ranksep: 54 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { ...nodeSize });
  for (const [index, { from, to, label }] of edges.entries()) {
    graph.setEdge(from, to, { width: label ? 60 : 0, height: label ? 16 : 0 }, String(index));
  }
  dagre.layout(graph);
  return new Map(
    nodes.map(({ id }) => {
      const { x = 0, y = 0 } = graph.node(id);
      return [id, { x: x - nodeSize.width / 2, y: y - nodeSize.height / 2 }];
    }),
  );
}
