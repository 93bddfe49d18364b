import { expect, test } from "bun:test";
import type { Graph } from "./graph.ts";
import { layoutOf, nodeSize } from "./layout.ts";

const node = (id: string) =>
  ({ id, label: id, note: null, count: 1, state: "idle", lastStep: 1 }) as const;

const edge = (from: string, to: string) => ({ from, to, label: null, kind: "next" }) as const;

test("nodes may have the names of Object.prototype's properties", () => {
  const names = ["constructor", "__proto__", "toString"];
  const graph: Graph = {
    nodes: names.map(node),
    edges: names.slice(1).map((name) => edge("constructor", name)),
  };
  const { nodes, edges } = layoutOf(graph);
  expect([...nodes.keys()]).toEqual(names);
  expect(new Set([...nodes.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(3);
  expect(edges.every(({ points }) => points.length > 1)).toBe(true);
});

test("an edge from a node to itself starts and ends at that node", () => {
  const { nodes, edges } = layoutOf({ nodes: [node("a")], edges: [edge("a", "a")] });
  const { x = 0, y = 0 } = nodes.get("a") ?? {};
  const points = edges[0]?.points ?? [];
  for (const point of [points[0], points.at(-1)]) {
    expect(point?.x).toBe(x + nodeSize.width);
    expect(point?.y).toBeGreaterThan(y);
    expect(point?.y).toBeLessThan(y + nodeSize.height);
  }
  expect(Math.max(...points.map((point) => point.x))).toBeGreaterThan(x + nodeSize.width);
});
