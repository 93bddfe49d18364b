import { roleName } from "../../lib/format.ts";
import { nameOf } from "../../lib/thread-log.ts";
import type { NodeState } from "../../ui/states.tsx";
import type { TraceRow } from "../trace/rows.ts";

/** A step or a construct of a graph. A construct contains the nodes whose `parent` it is. */
export type GraphNode = {
  id: string;
  parent: string | null;
  label: string;
  note: string | null;
  /** The number of finished runs. */
  count: number;
  state: NodeState;
  /** The row of the newest run; null before the first run. */
  row: string | null;
  /** Whether the node is a box around other nodes. */
  isGroup: boolean;
};

/** A line between nodes; the label is a count or a condition. */
export type GraphEdge = {
  from: string;
  to: string;
  label: string | null;
  kind: "next" | "child" | "error";
};

export type Graph = { nodes: GraphNode[]; edges: GraphEdge[] };

/** The state of a node from the status of a row. */
export const stateOf = ({ status }: TraceRow): NodeState =>
  status === "done" || status === "copied" ? "committed" : status;

/** The kinds of rows that are parts of an attempt, or times between attempts. */
const parts = new Set<TraceRow["kind"]>(["thinking", "text", "tool", "retry", "pause", "answer"]);

/** Tells whether a row is a node. */
export const isNode = ({ kind }: TraceRow): boolean => !parts.has(kind);

/** Maximum number of concurrent members of a role with separate nodes. More members share one node. */
const mostMembers = 12;

/** A row with the rows of nodes in it. */
type Nested = { row: TraceRow; children: Nested[] };

/**
 * The structure of a thread: the roles as nodes, in the boxes of their loops and branches. Each attempt is
 * connected to the last attempts that ended before it started. Concurrent attempts are not connected.
 */
export function traceGraph(rows: readonly TraceRow[]): Graph {
  const nodes = new Map<string, Drawn>();
  const follows = new Map<string, { from: string; to: string; times: number }>();
  const add = (siblings: readonly Nested[], parent: string | null): void => {
    const own = siblings.flatMap(({ row, children }) =>
      isNode(row) && isDrawn(row) ? [{ row, id: idOf(row, parent, siblings, children) }] : [],
    );
    for (const { row, id } of own) takeRow(nodes, row, id, parent);
    for (const [from, to] of orderOf(own)) {
      const key = JSON.stringify([from, to]);
      const known = follows.get(key) ?? { from, to, times: 0 };
      known.times += 1;
      follows.set(key, known);
    }
    for (const { row, children } of siblings) {
      const within = children.filter((child) => isNode(child.row));
      if (!isNode(row) || within.length === 0) continue;
      const id = isDrawn(row) ? idOf(row, parent, siblings, children) : parent;
      const node = id === null ? undefined : nodes.get(id);
      if (node) node.isGroup = true;
      add(within, id);
    }
  };
  add(nestedRows(rows), null);
  const edges = [...follows.values()].map(({ from, to, times }): GraphEdge => {
    return { from, to, label: times > 1 ? `${times}×` : null, kind: "next" };
  });
  return { nodes: [...nodes.values()], edges };
}

/** A node with the number of its running attempts. */
type Drawn = GraphNode & { running: number };

/** All iterations of a loop share the box of the loop. */
const isDrawn = ({ kind }: TraceRow): boolean => kind !== "iteration";

function takeRow(
  nodes: Map<string, Drawn>,
  row: TraceRow,
  id: string,
  parent: string | null,
): void {
  const node = nodes.get(id) ?? {
    ...{ id, parent, label: labelOf(row), note: null, count: 0 },
    ...{ state: "idle" as NodeState, row: null, isGroup: false, running: 0 },
  };
  nodes.set(id, node);
  node.state = stateOf(row);
  node.row = row.id;
  if (node.state === "committed") node.count += 1;
  node.running += row.status === "running" ? 1 : 0;
  if (node.running > 1) node.note = `${node.running} running`;
}

const labelOf = ({ card, name }: TraceRow): string =>
  card ? roleName(card.step?.role ?? nameOf(card.attempt) ?? name, card.step?.meta) : name;

/** The id of the node of a row. All runs at the same place share an id. */
function idOf(
  row: TraceRow,
  parent: string | null,
  siblings: readonly Nested[],
  children: readonly Nested[],
): string {
  const isMember = row.card?.attempt.path.at(-1)?.in === "step.all";
  const isSeparate = isMember && siblings.length <= mostMembers;
  const name = isSeparate ? row.name : labelOf(row);
  // The first member distinguishes constructs without names.
  const first = row.card === null ? (children[0]?.row.name ?? "") : "";
  return [parent ?? "", name, first].join("\n");
}

function nestedRows(rows: readonly TraceRow[]): Nested[] {
  const top: Nested[] = [];
  const byId = new Map<string, Nested>();
  for (const row of rows) {
    const nested = { row, children: [] };
    byId.set(row.id, nested);
    const parent = byId.get(row.parent ?? "");
    // A subagent is in the box of its caller, not of the call.
    const around = parent?.row.kind === "tool" ? byId.get(parent.row.parent ?? "") : parent;
    (around?.children ?? top).push(nested);
  }
  return top;
}

/** The lines between siblings, in the order of their starts: from the last rows that ended before a row to that row. */
function orderOf(rows: readonly { row: TraceRow; id: string }[]): [from: string, to: string][] {
  const lines: [string, string][] = [];
  /** The rows that have ended, by their end. */
  const ended: { id: string; start: number; end: number }[] = [];
  const open: typeof ended = [];
  for (const { row, id } of rows) {
    const start = row.startedAt ?? row.endedAt ?? 0;
    for (const one of open.filter(({ end }) => end <= start)) {
      open.splice(open.indexOf(one), 1);
      ended.splice(ended.findLastIndex(({ end }) => end <= one.end) + 1, 0, one);
    }
    // A row is not a last row if another row has started after that row's end and has also ended.
    let lastStart = -Infinity;
    for (let index = ended.length - 1; index >= 0; index -= 1) {
      const one = ended[index];
      if (!one || one.end <= lastStart) break;
      lines.push([one.id, id]);
      lastStart = Math.max(lastStart, one.start);
    }
    if (row.status !== "running") open.push({ id, start, end: row.endedAt ?? start });
  }
  return lines;
}
