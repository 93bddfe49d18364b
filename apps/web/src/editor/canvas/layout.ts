import type { Point } from "@uncaged/workflow/editing";
import dagre from "@dagrejs/dagre";
import { inset, type Size } from "./geometry.ts";

/** Input of the layout, which may run in a worker. */
export type LayoutTask = {
  nodes: readonly {
    id: string;
    parent: string | null;
    isContainer: boolean;
    size: Size;
    /** Left padding of the content, in drawing coordinates. */
    lead: number;
  }[];
  edges: readonly { source: string; target: string }[];
  /** Whether lines run from left to right instead of top to bottom. */
  isWide: boolean;
};

export type LayoutResult = readonly (readonly [string, Point])[];

/** Maximum number of nodes in a level for dagre, which would take seconds for more. */
const mostForDagre = 400;

/** Maximum number of nodes in a row. A longer rank continues in the next row. */
const mostInRank = 60;

const gap = { node: 48, rank: 90 };

type Level = { ids: string[]; edges: [string, string][] };

/**
 * Places all nodes. Containers are laid out inside out: first their content, then each as one node of its parent level.
 * A line between nodes of different levels connects their ancestors on the nearest common level.
 */
export function layoutOf({ nodes, edges, isWide }: LayoutTask): LayoutResult {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const levels = levelsOf({ nodes, edges, isWide }, byId);
  const sizes = new Map(nodes.map(({ id, size }) => [id, size]));
  const result: [string, Point][] = [];
  for (const { id, isContainer, lead } of nodes.toReversed()) {
    if (!isContainer) continue;
    const level = levels.get(id);
    if (!level) continue;
    const placed = placeLevel(level, sizes, isWide);
    let [right, bottom] = [0, 0];
    for (const [child, { x, y }] of placed) {
      const size = sizes.get(child) ?? { width: 0, height: 0 };
      right = Math.max(right, x + size.width);
      bottom = Math.max(bottom, y + size.height);
      result.push([child, { x: x + lead, y: y + inset.top }]);
    }
    sizes.set(id, {
      width: right + lead + inset.side,
      height: bottom + inset.top + inset.bottom,
    });
  }
  result.push(...placeLevel(levels.get(null) ?? { ids: [], edges: [] }, sizes, isWide));
  return result;
}

type Placed = LayoutTask["nodes"][number];

function levelsOf(task: LayoutTask, byId: ReadonlyMap<string, Placed>): Map<string | null, Level> {
  const levels = new Map<string | null, Level>();
  const levelOf = (parent: string | null): Level => {
    const level = levels.get(parent) ?? { ids: [], edges: [] };
    levels.set(parent, level);
    return level;
  };
  for (const { id, parent } of task.nodes) levelOf(parent).ids.push(id);
  const chainOf = (id: string): Placed[] => {
    const chain: Placed[] = [];
    for (let node = byId.get(id); node; node = byId.get(node.parent ?? "")) chain.unshift(node);
    return chain;
  };
  for (const { source, target } of task.edges) {
    const [from, to] = [chainOf(source), chainOf(target)];
    const depth = from.findIndex(({ id }, index) => to[index]?.id !== id);
    const [one, other] = [from[depth], to[depth]];
    if (one && other) levelOf(one.parent).edges.push([one.id, other.id]);
  }
  return levels;
}

type Sizes = ReadonlyMap<string, Size>;

function placeLevel({ ids, edges }: Level, sizes: Sizes, isWide: boolean): [string, Point][] {
  const sizeFor = (id: string): Size => sizes.get(id) ?? { width: 0, height: 0 };
  if (ids.length > mostForDagre) return placeInRanks({ ids, edges }, sizeFor, isWide);
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({
    rankdir: isWide ? "LR" : "TB",
    nodesep: gap.node,
    ranksep: gap.rank,
    ranker: ids.length > 150 ? "longest-path" : "network-simplex",
  });
  graph.setDefaultEdgeLabel(() => ({}));
  // Numeric keys: dagre looks names up in plain objects, and a node may be called `constructor`.
  const keys = new Map(ids.map((id, index) => [id, String(index)]));
  for (const id of ids) graph.setNode(keys.get(id) ?? "", { ...sizeFor(id) });
  for (const [from, to] of edges) graph.setEdge(keys.get(from) ?? "", keys.get(to) ?? "");
  dagre.layout(graph);
  return ids.map((id) => {
    const { x = 0, y = 0 } = graph.node(keys.get(id) ?? "");
    const { width, height } = sizeFor(id);
    return [id, { x: Math.round(x - width / 2), y: Math.round(y - height / 2) }];
  });
}

/** Places nodes rank by rank in document order, in linear time. */
function placeInRanks(
  { ids, edges }: Level,
  sizeFor: (id: string) => Size,
  isWide: boolean,
): [string, Point][] {
  const ranks = ranksOf({ ids, edges });
  const rows = Map.groupBy(ids, (id) => ranks.get(id) ?? 0);
  const ordered = [...rows].toSorted(([one], [other]) => one - other);
  const [along, across] = isWide ? (["x", "y"] as const) : (["y", "x"] as const);
  const [depth, breadth] = isWide ? (["width", "height"] as const) : (["height", "width"] as const);
  const placed: [string, Point][] = [];
  let start = 0;
  for (const row of ordered.flatMap(([, all]) => chunksOf(all, mostInRank))) {
    let next = 0;
    for (const id of row) {
      placed.push([id, { x: 0, y: 0, [along]: start, [across]: next }]);
      next += sizeFor(id)[breadth] + gap.node;
    }
    start += Math.max(...row.map((id) => sizeFor(id)[depth])) + gap.rank;
  }
  return placed;
}

const chunksOf = <One>(all: readonly One[], most: number): One[][] =>
  Array.from({ length: Math.ceil(all.length / most) }, (_, index) =>
    all.slice(index * most, (index + 1) * most),
  );

/** The longest distance of each node from a node without predecessors. Loops are cut where they close. */
function ranksOf({ ids, edges }: Level): Map<string, number> {
  const follow = new Map<string, string[]>(ids.map((id) => [id, []]));
  const pending = new Map(ids.map((id) => [id, 0]));
  for (const [from, to] of edges) {
    if (from === to) continue;
    follow.get(from)?.push(to);
    pending.set(to, (pending.get(to) ?? 0) + 1);
  }
  const ranks = new Map(ids.map((id) => [id, 0]));
  const done = new Set<string>();
  const queue = ids.filter((id) => pending.get(id) === 0);
  const take = (id: string): void => {
    if (done.has(id)) return;
    done.add(id);
    for (const to of follow.get(id) ?? []) {
      if (done.has(to)) continue;
      ranks.set(to, Math.max(ranks.get(to) ?? 0, (ranks.get(id) ?? 0) + 1));
      const left = (pending.get(to) ?? 0) - 1;
      pending.set(to, left);
      if (left === 0) queue.push(to);
    }
  };
  // The queue grows during the loop. The search enters a cycle at its first node in the document.
  for (const id of queue) take(id);
  for (const first of ids) {
    if (done.has(first)) continue;
    const begun = queue.length;
    take(first);
    for (let at = begun; at < queue.length; at += 1) take(queue[at] ?? "");
  }
  return ranks;
}
