import type { NumberedStep } from "@uncaged/workflow-server/api-types";

/** A role or a step of a document, and how often it ran. */
export type GraphNode = {
  id: string;
  label: string;
  /** What stands below the label. */
  note: string | null;
  count: number;
  state: "idle" | "done" | "live" | "waiting" | "failed";
  /** The number of its last step, for who wants to see it. */
  lastStep: number | null;
};

/** Who leads to whom: how often, or under which condition. */
export type GraphEdge = {
  from: string;
  to: string;
  label: string | null;
  kind: "next" | "inside" | "error";
};

export type Graph = { nodes: GraphNode[]; edges: GraphEdge[] };

/**
 * The roles of a thread: who followed whom, and how often. `live` are those at work now, `failed` those
 * that failed and were not done again. Answers are not told apart from the questions that they answer.
 */
export function roleGraph(
  steps: readonly Pick<NumberedStep, "role" | "number">[],
  live: readonly string[],
  failed: readonly string[] = [],
): Graph {
  const nodes = new Map<string, GraphNode>();
  const follows = new Map<string, number>();
  const nodeOf = (role: string): GraphNode => {
    const found = nodes.get(role);
    if (found) return found;
    const node: GraphNode = {
      id: role,
      label: role,
      note: null,
      count: 0,
      state: "done",
      lastStep: null,
    };
    nodes.set(role, node);
    return node;
  };
  const follow = (from: string | null, to: string) => {
    if (from === null) return;
    const key = JSON.stringify([from, to]);
    follows.set(key, (follows.get(key) ?? 0) + 1);
  };
  let before: string | null = null;
  for (const { role, number } of steps) {
    const name = role === "__input__" ? "__wait__" : role;
    const node = nodeOf(name);
    node.lastStep = number;
    if (role === "__input__") continue;
    node.count += 1;
    follow(before, name);
    before = name;
  }
  if (steps.at(-1)?.role === "__wait__") nodeOf("__wait__").state = "waiting";
  const mark = (state: "failed" | "live") => (role: string) => {
    if (!nodes.has(role)) follow(before, role);
    nodeOf(role).state = state;
  };
  failed.forEach(mark("failed"));
  live.forEach(mark("live"));
  const edges = [...follows].map(([key, times]): GraphEdge => {
    const [from = "", to = ""] = JSON.parse(key) as string[];
    return { from, to, label: times > 1 ? `${times}×` : null, kind: "next" };
  });
  return { nodes: [...nodes.values()], edges };
}
