import { type DocumentPath, isRecord, listOf, type Point, textOf } from "@uncaged/workflow/editing";
import { REJECTED, SUBAGENT } from "../document/graph.ts";

export type Data = Readonly<Record<string, unknown>>;

/** A node of a document. The legacy type `input` is read as an approval. */
export type GraphNode = {
  id: string;
  type: string;
  /** Index in the document's list of nodes. */
  index: number;
  data: Data;
  at: Point | null;
};

/** A connection, with the port of its source. */
export type GraphLine = {
  /** Id of the line, which stays the same while the connection exists. */
  id: string;
  source: string;
  target: string;
  port: string;
  /** Index in the document's list of connections. */
  index: number;
};

export type ReadGraph = {
  nodes: ReadonlyMap<string, GraphNode>;
  /** All lines, including lines to or from a missing node. */
  lines: readonly GraphLine[];
};

/** The handle of connections without a handle. */
export const output = "output";

/** Reads the valid parts of a document. Keeps only the first of several nodes with the same id. */
export function readDocument(document: unknown): ReadGraph {
  const { nodes, connections } = isRecord(document) ? document : {};
  const read = new Map<string, GraphNode>();
  for (const [index, given] of listOf(nodes).entries()) {
    const node = readNode(given, index);
    if (node && !read.has(node.id)) read.set(node.id, node);
  }
  const ids = new Set<string>();
  const lines = listOf(connections).flatMap((given, index): GraphLine[] => {
    const line = readLine(given, read);
    if (!line) return [];
    const id = ids.has(line.id) ? `${line.id} ${index}` : line.id;
    ids.add(id);
    return [{ ...line, id, index }];
  });
  return { nodes: read, lines };
}

function readNode(given: unknown, index: number): GraphNode | null {
  const { id, type, data, x, y } = isRecord(given) ? given : {};
  if (typeof id !== "string" || id === "") return null;
  const isPlaced = Number.isFinite(x) && Number.isFinite(y);
  return {
    id,
    type: type === "input" ? "approval" : typeof type === "string" ? type : "",
    index,
    data: isRecord(data) ? data : {},
    at: isPlaced ? { x: Number(x), y: Number(y) } : null,
  };
}

function readLine(given: unknown, nodes: ReadGraph["nodes"]): Omit<GraphLine, "index"> | null {
  const { source, target, sourceHandle } = isRecord(given) ? given : {};
  if (typeof source !== "string" || typeof target !== "string") return null;
  const port = portOf(nodes.get(source), textOf(sourceHandle));
  return { id: lineId(source, port, target), source, target, port };
}

export const lineId = (source: string, port: string, target: string): string =>
  JSON.stringify([source, port, target]);

export const hasGuardrail = ({ data }: GraphNode): boolean =>
  isRecord(data.guardrail) && Object.keys(data.guardrail).length > 0;

/** Returns the port of a handle. All handles of an agent but these two belong to its output port. */
function portOf(node: GraphNode | undefined, handle: string): string {
  if (node?.type === "if" && handle === "true") return conditionPort(0);
  if (node?.type === "if" || node?.type === "approval") return handle || output;
  if (handle === REJECTED && node && hasGuardrail(node)) return REJECTED;
  return handle === SUBAGENT ? SUBAGENT : output;
}

export type Condition = { operator: string; value: string };

/** Returns the conditions of a node. The legacy form is one text that the input must contain. */
export function conditionsOf({ conditions, condition }: Data): readonly unknown[] {
  if (conditions === undefined && typeof condition === "string") {
    return [{ operator: "contains", value: condition }];
  }
  return listOf(conditions);
}

export function readCondition(given: unknown): Condition {
  const { operator, value } = isRecord(given) ? given : {};
  return {
    operator: operator === "contains" ? "contains" : "equal",
    value: typeof value === "number" ? String(value) : textOf(value),
  };
}

export const conditionPort = (index: number): string => `condition-${index}`;

/** Returns the number of the condition at a port; null for other ports. */
export function conditionAt(port: string): number | null {
  const number = /^condition-(\d+)$/.exec(port)?.[1];
  return number === undefined ? null : Number(number);
}

export const callsSubagents = ({ type, data }: GraphNode): boolean =>
  type === "agent" && isRecord(data.tools) && data.tools.subagents === true;

export const callerOf = ({ lines }: ReadGraph, id: string): string | null =>
  lines.find(({ port, target }) => port === SUBAGENT && target === id)?.source ?? null;

export function startOf({ nodes }: ReadGraph): GraphNode | null {
  for (const node of nodes.values()) if (node.type === "start") return node;
  return null;
}

export function nameOfNode({ type, data, id }: Pick<GraphNode, "type" | "data" | "id">): string {
  if (type === "agent") return textOf(data.agentName).trim() || "Agent";
  const names: Readonly<Record<string, string>> = {
    start: "Start",
    if: "Condition",
    approval: "User Approval",
  };
  return (Object.hasOwn(names, type) ? names[type] : undefined) ?? (type || id);
}

export const pathOfNode = ({ index }: GraphNode): DocumentPath => ["nodes", index];

/** Returns the first number above the numbers of all node ids. */
export function nextNumber({ nodes }: ReadGraph): number {
  let highest = 0;
  for (const id of nodes.keys()) {
    const number = Number(/^node_(\d{1,15})$/.exec(id)?.[1] ?? 0);
    if (number > highest) highest = number;
  }
  return highest + 1;
}
