import { drawSteps } from "@uncaged/workflow-steps/editing";
import { isRecord, readJson } from "../../lib/json.ts";
import { nodeIdOf } from "../../lib/thread-log.ts";
import type { TraceRow } from "../trace/rows.ts";
import { type Graph, type GraphEdge, type GraphNode, isNode, stateOf } from "./graph.ts";

/** The document of a step workflow in a descriptor; null if it holds none. */
export function documentIn(descriptor: unknown): object | null {
  const mark = isRecord(descriptor) ? descriptor.stepWorkflow : null;
  const text = isRecord(mark) ? mark.document : null;
  const document = typeof text === "string" ? readJson(text).value : text;
  return isRecord(document) && Array.isArray(document.steps) ? document : null;
}

/** A document as a graph, with counts and states of a thread's rows. */
export function documentGraph(document: object, rows: readonly TraceRow[] = []): Graph {
  const own = rows.filter((row) => isNode(row) && row.card?.attempt.attempt === row.id);
  const byNode = Map.groupBy(own, ({ card }) => card && nodeIdOf(card));
  const drawing = drawSteps(document);
  const drawn = new Map(drawing.nodes.map((node) => [node.id, node]));
  const groups = new Set(drawing.nodes.map(({ parent }) => parent));
  const nodes = drawing.nodes.map(({ id, parent, title }): GraphNode => {
    const runs = byNode.get(id) ?? [];
    const last = runs.at(-1);
    const done = runs.filter((row) => isOwn(row) && row.kind !== "question" && row.number !== null);
    return {
      ...{ id, parent, label: title, note: id, count: done.length },
      ...{ state: last ? stateOf(last) : "idle", row: last?.id ?? null, isGroup: groups.has(id) },
    };
  });
  const edges = drawing.edges
    .filter(({ source, target }) => drawn.get(target)?.parent !== source)
    .map(({ source, sourcePort, target, label, look }): GraphEdge => {
      const port = drawn.get(source)?.ports.find(({ id }) => id === sourcePort);
      const kind = look === "tool" ? "next" : look;
      return {
        from: source,
        to: target,
        kind,
        label: look === "error" ? (port?.label ?? null) : label,
      };
    });
  return { nodes, edges };
}

/** Tells whether a row's step is in the document itself, not in a child workflow. */
const isOwn = ({ card }: TraceRow): boolean =>
  card !== null && !card.attempt.path.some((part) => "run" in part);
