/** The successors of each node, by the node's number from 0. */
type Adjacency = readonly (readonly number[])[];

/**
 * Returns the loops of a graph: the nodes of each loop, by its head. The head of a cycle is a node with a connection
 * from outside, preferably a node where all back connections come from decisions, else the first in the document.
 * Removing the head reveals the inner loops (Bourdoncle 1993).
 */
export function loopsOf(
  start: number,
  next: Adjacency,
  isDecision: (node: number) => boolean,
): Map<number, ReadonlySet<number>> {
  const loops = new Map<number, ReadonlySet<number>>();
  const waiting: { nodes: ReadonlySet<number>; from: number[] }[] = [
    { nodes: new Set(next.keys()), from: [start] },
  ];
  for (let part = waiting.pop(); part; part = waiting.pop()) {
    const { from, nodes } = part;
    const circles = circlesOf(from, nodes, next);
    const inCircle = new Map(
      circles.flatMap((circle) => [...circle].map((node) => [node, circle])),
    );
    // Nodes with a connection from outside their cycle, and nodes with a back connection that does not come from a
    // decision.
    const entered = new Set(from);
    const driven = new Set<number>();
    for (const node of nodes) {
      for (const target of next[node] ?? []) {
        const circle = inCircle.get(target);
        if (circle && !circle.has(node)) entered.add(target);
        if (circle?.has(node) && !isDecision(node)) driven.add(target);
      }
    }
    for (const circle of circles) {
      const entries = [...circle].filter((node) => entered.has(node)).toSorted((a, b) => a - b);
      const first = entries.find((node) => !driven.has(node)) ?? entries[0] ?? [...circle][0] ?? 0;
      loops.set(first, circle);
      const rest = new Set(circle);
      rest.delete(first);
      const following = (next[first] ?? []).filter((node) => rest.has(node));
      waiting.push({
        nodes: rest,
        from: [...following, ...entries.filter((node) => node !== first)],
      });
    }
  }
  return loops;
}

/** Returns the strongly connected components among the given nodes (Tarjan 1972). */
function circlesOf(
  from: readonly number[],
  nodes: ReadonlySet<number>,
  next: Adjacency,
): Set<number>[] {
  const circles: Set<number>[] = [];
  const numbers = new Map<number, number>();
  const lowest = new Map<number, number>();
  const open: number[] = [];
  const isOpen = new Set<number>();
  const trail: { node: number; at: number }[] = [];
  const enter = (node: number): void => {
    numbers.set(node, numbers.size);
    lowest.set(node, numbers.size - 1);
    open.push(node);
    isOpen.add(node);
    trail.push({ node, at: 0 });
  };
  const lower = (node: number, to: number | undefined): void => {
    lowest.set(node, Math.min(lowest.get(node) ?? 0, to ?? 0));
  };
  for (const root of from) {
    if (!numbers.has(root)) enter(root);
    for (let top = trail.at(-1); top; top = trail.at(-1)) {
      const { node } = top;
      const target = next[node]?.[top.at++];
      if (target !== undefined) {
        if (!nodes.has(target)) continue;
        if (!numbers.has(target)) enter(target);
        else if (isOpen.has(target)) lower(node, numbers.get(target));
        continue;
      }
      trail.pop();
      const above = trail.at(-1);
      if (above) lower(above.node, lowest.get(node));
      if (lowest.get(node) !== numbers.get(node)) continue;
      const circle = new Set(open.splice(open.lastIndexOf(node)));
      for (const one of circle) isOpen.delete(one);
      if (circle.size > 1 || next[node]?.includes(node)) circles.push(circle);
    }
  }
  return circles;
}
