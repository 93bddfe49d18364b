import { expect, test } from "bun:test";
import type { Graph } from "./graph.ts";
import { layoutOfGraph, nodeSize, viewOf } from "./graph-drawing.tsx";

const node = (id: string, parent: string | null = null) => ({
  ...{ id, parent, label: id, note: null, count: 1, row: null },
  ...{ state: "idle" as const, isGroup: false },
});

const edge = (from: string, to: string) => ({ from, to, label: null, kind: "next" }) as const;

test("nodes may have the names of Object.prototype's properties", () => {
  const names = ["constructor", "__proto__", "toString"];
  const graph: Graph = {
    nodes: names.map((name) => node(name)),
    edges: names.slice(1).map((name) => edge("constructor", name)),
  };
  const { nodes, edges } = layoutOfGraph(graph);
  expect([...nodes.keys()]).toEqual(names);
  expect(new Set([...nodes.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(3);
  expect(edges.every(({ points }) => points.length > 1)).toBe(true);
});

test("an edge from a node to itself starts and ends at that node", () => {
  const { nodes, edges } = layoutOfGraph({ nodes: [node("a")], edges: [edge("a", "a")] });
  const { x = 0, y = 0 } = nodes.get("a") ?? {};
  const points = edges[0]?.points ?? [];
  for (const point of [points[0], points.at(-1)]) {
    expect(point?.x).toBe(x + nodeSize.width);
    expect(point?.y).toBeGreaterThan(y);
    expect(point?.y).toBeLessThan(y + nodeSize.height);
  }
  expect(Math.max(...points.map((point) => point.x))).toBeGreaterThan(x + nodeSize.width);
});

test("a box contains its nodes, and an edge into it leads to the box", () => {
  const box = { ...node("loop"), isGroup: true };
  const { nodes, edges } = layoutOfGraph({
    nodes: [node("a"), box, node("b", "loop"), node("c", "loop")],
    edges: [edge("a", "b"), edge("b", "c"), edge("c", "loop")],
  });
  const [outer, inner, next] = ["loop", "b", "c"].map((id) => nodes.get(id));
  for (const one of [inner, next]) {
    expect(one?.x).toBeGreaterThan(outer?.x ?? 0);
    expect(one?.y).toBeGreaterThan(outer?.y ?? 0);
    expect((one?.x ?? 0) + (one?.width ?? 0)).toBeLessThan((outer?.x ?? 0) + (outer?.width ?? 0));
    expect((one?.y ?? 0) + (one?.height ?? 0)).toBeLessThan((outer?.y ?? 0) + (outer?.height ?? 0));
  }
  expect(next?.y).toBeGreaterThan((inner?.y ?? 0) + (inner?.height ?? 0));
  expect(edges.map(({ edge: { from, to } }) => `${from} ${to}`)).toEqual(["b c", "a loop"]);
});

test("a drawing of more than 400 nodes has every node and every edge", () => {
  const ids = Array.from({ length: 401 }, (_, index) => `n${index}`);
  const graph: Graph = {
    nodes: ids.map((id) => node(id)),
    edges: ids.slice(1).map((id, index) => edge(ids[index] ?? "", id)),
  };
  const { nodes, edges } = layoutOfGraph(graph);
  expect([nodes.size, edges.length]).toEqual([401, 400]);
  expect(edges.every(({ points }) => points.length > 1)).toBe(true);
});

test("a long graph begins at its first node with readable texts, and a short graph is in the middle", () => {
  const drawn = (count: number) => {
    const ids = Array.from({ length: count }, (_, index) => `n${index}`);
    const edges = ids.slice(1).map((id, index) => edge(ids[index] ?? "", id));
    return layoutOfGraph({ nodes: ids.map((id) => node(id)), edges });
  };
  const window = { width: 800, height: 700 };
  expect(viewOf(drawn(40), window)).toMatchObject({ zoom: 0.75, y: 20 });
  const short = drawn(2);
  const { x, y, zoom } = viewOf(short, window);
  expect([zoom, x, y]).toEqual([1, 400 - short.size.width / 2, 350 - short.size.height / 2]);
  expect(viewOf(drawn(40), window, 0.1).zoom).toBeLessThan(0.5);
});
