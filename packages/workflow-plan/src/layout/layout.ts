import { Graph, layout } from "@dagrejs/dagre";
import type { PlanStep } from "../plan/plan.ts";

/** The size of a step's box in an editor, in pixels. */
const width = 240;
const height = 96;

/**
 * Returns the steps with their positions: in layers from left to right, so that each edge points forward and no two
 * boxes overlap. A position is the top left corner of the box.
 */
export function placed(steps: readonly PlanStep[]): PlanStep[] {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 32, ranksep: 72 });
  graph.setDefaultEdgeLabel(() => ({}));
  // Use numbers as keys: dagre looks names up in plain objects, and a step may be named `constructor`.
  const keys = new Map(steps.map(({ id }, index) => [id, String(index)]));
  const keyOf = (id: string): string => keys.get(id) ?? "";
  for (const key of keys.values()) graph.setNode(key, { width, height });
  for (const { depends_on, id } of steps) {
    for (const from of depends_on) if (keys.has(from)) graph.setEdge(keyOf(from), keyOf(id));
  }
  layout(graph);
  return steps.map((step) => {
    const { x, y } = graph.node(keyOf(step.id)) as { x: number; y: number };
    return { ...step, position: { x: Math.round(x - width / 2), y: Math.round(y - height / 2) } };
  });
}
