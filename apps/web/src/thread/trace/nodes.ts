import { type AttemptTurn, firstLine } from "@uncaged/workflow/records";
import type { Card } from "../../lib/thread-log.ts";
import type { RowState } from "../../ui/states.tsx";

/**
 * One row of a thread's trace: an attempt, a construct around attempts, or a part of an attempt. Times are in
 * milliseconds since the epoch. `number` is the number of the committed step, `failedAt` the number of the step at which
 * the thread failed. `tokens` and `cost` of a construct are the sums of its own attempts; `cost` is null when no price is
 * known. `card` is the attempt of the row, or the attempt that contains the row; null for a construct without an attempt.
 */
export type TraceRow = {
  id: string;
  kind:
    | "attempt"
    | "loop"
    | "iteration"
    | "branch"
    | "thinking"
    | "text"
    | "tool"
    | "question"
    | "answer"
    | "wait"
    | "pause"
    | "retry";
  depth: number;
  parent: string | null;
  name: string;
  status: Parameters<typeof RowState>[0]["status"];
  number: number | null;
  failedAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
  tokens: number;
  cost: number | null;
  card: Card | null;
  turn: AttemptTurn | null;
};

/**
 * A row with the rows in it. A `chain` is one of several chains of steps in a construct. A construct's
 * only chain, and a chain of a single row, is omitted.
 */
export type TraceNode = { row: TraceRow; children: TraceNode[]; chain: boolean };

export const leaf = (id: string, kind: TraceRow["kind"], name: string): TraceRow => ({
  ...{ id, kind, name, depth: 0, parent: null, status: "done", number: null, failedAt: null },
  ...{ startedAt: null, endedAt: null, tokens: 0, cost: null, card: null, turn: null },
});

/** The first line of a text that is not empty. A foreign event may have another value in place of a text. */
export const lineIn = (text: unknown): string =>
  firstLine((typeof text === "string" ? text : (JSON.stringify(text) ?? "")).slice(0, longest));

const longest = 2_000;

/** The nodes in the order of time, with the times, the states and the sums of their constructs. */
export function finished(nodes: readonly TraceNode[]): TraceNode[] {
  return flattened(nodes)
    .map((node) => {
      const children = finished(node.children);
      return { ...node, children, row: withSums(node.row, children) };
    })
    .toSorted((a, b) => startOf(a) - startOf(b));
}

const startOf = ({ row }: TraceNode): number => row.startedAt ?? row.endedAt ?? Infinity;

function flattened(nodes: readonly TraceNode[]): readonly TraceNode[] {
  const chains = nodes.filter(({ chain }) => chain);
  if (chains.length === 0) return nodes;
  return nodes.flatMap((node) =>
    node.chain && (chains.length === 1 || node.children.length === 1) ? node.children : [node],
  );
}

const ranks: readonly TraceRow["status"][] = [
  ...(["running", "waiting", "parked", "failed", "lost"] as const),
  ...(["cancelled", "done", "copied", "skipped"] as const),
];

function withSums(row: TraceRow, children: readonly TraceNode[]): TraceRow {
  const isConstruct = row.kind === "loop" || row.kind === "branch" || row.kind === "iteration";
  if (!isConstruct || children.length === 0) return row;
  const { tokens, cost } = sumOf(children);
  if (row.card !== null) return { ...row, tokens, cost };
  const starts = children.flatMap(({ row: { startedAt } }) => startedAt ?? []);
  const ends = children.map(({ row: { endedAt } }) => endedAt);
  const isOpen = ends.includes(null);
  return {
    ...{ ...row, tokens, cost, status: statusIn(children) },
    startedAt: starts.length > 0 ? least(starts) : null,
    endedAt: isOpen ? null : most(ends as number[]),
  };
}

const least = (all: readonly number[]): number => all.reduce((a, b) => Math.min(a, b));
const most = (all: readonly number[]): number => all.reduce((a, b) => Math.max(a, b));

/** The state of a construct, from its last child and the children that ended after the start of that child. */
function statusIn(children: readonly TraceNode[]): TraceRow["status"] {
  const rows = children.map(({ row }) => row).filter(({ kind }) => kind !== "retry");
  const last = rows.at(-1)?.startedAt ?? 0;
  const final = rows.filter(
    (row, index) => index === rows.length - 1 || (row.endedAt ?? Infinity) > last,
  );
  return ranks.find((rank) => final.some(({ status }) => status === rank)) ?? "done";
}

/** The spending of this thread. An attempt's own record includes the attempts in it. */
function sumOf(nodes: readonly TraceNode[]): Pick<TraceRow, "tokens" | "cost"> {
  let tokens = 0;
  let cost: number | null = null;
  for (const { row, children } of nodes) {
    const attempt = row.kind === "attempt" ? row.card?.attempt : undefined;
    if (attempt?.saved) continue;
    const isSummed = attempt ? attempt.recorded : row.kind !== "tool";
    const within = isSummed ? { tokens: 0, cost: null } : sumOf(children);
    tokens += row.tokens + within.tokens;
    for (const known of [row.cost, within.cost]) if (known !== null) cost = (cost ?? 0) + known;
  }
  return { tokens, cost };
}
