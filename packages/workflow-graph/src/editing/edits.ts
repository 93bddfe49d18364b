import {
  type Change,
  counted,
  type DocumentPath,
  type Edit,
  isRecord,
  listOf,
  type NodePosition,
  type Point,
  type PortAt,
  type Refused,
  textOf,
} from "@uncaged/workflow/editing";
import { nodeDefaults, SUBAGENT } from "../document/graph.ts";
import { newViolation } from "../outline/subagents.ts";
import { calledAt, input, isExit } from "./drawing.ts";
import {
  conditionAt,
  type Data,
  type GraphLine,
  type GraphNode,
  lineId,
  nameOfNode,
  nextNumber,
  output,
  pathOfNode,
  type ReadGraph,
  readDocument,
  startOf,
} from "./graph-document.ts";

/** Adds a collapsed node with its default data. */
export function addNode(document: unknown, type: string, at: Point): Edit | Refused {
  const graph = readDocument(document);
  if (type === "start" && startOf(graph)) return { refused: "The graph already has a Start." };
  const defaults: Readonly<Record<string, Data>> = nodeDefaults;
  const data = Object.hasOwn(defaults, type) ? defaults[type] : {};
  const id = `node_${nextNumber(graph)}`;
  const node = { id, type, ...roundedAt(at), data: { ...structuredClone(data), collapsed: true } };
  return {
    label: `Add ${nameOfNode(node)}`,
    changes: appended(document, "nodes", [node]),
    select: [id],
  };
}

const roundedAt = ({ x, y }: Point): Point => ({ x: Math.round(x), y: Math.round(y) });

/** Adds items to one of the document's lists, which may be missing. */
function appended(
  document: unknown,
  name: "nodes" | "connections",
  items: readonly unknown[],
): Change[] {
  if (items.length === 0) return [];
  const list = isRecord(document) ? document[name] : undefined;
  if (!Array.isArray(list)) return [{ path: [name], value: items }];
  return items.map((value, index) => ({ path: [name, list.length + index], value, insert: true }));
}

/** Removes lines, and nodes with their lines. The Start stays. */
export function removeParts(
  document: unknown,
  ids: readonly string[],
  lineIds: readonly string[],
): Edit | Refused {
  const graph = readDocument(document);
  const start = startOf(graph);
  const nodes = ids.map((id) => graph.nodes.get(id)).filter((node) => node !== undefined);
  const removable = nodes.filter((node) => node !== start);
  if (removable.length === 0 && lineIds.length === 0) {
    return { refused: "The Start can't be deleted: a run starts there." };
  }
  const gone = new Set(removable.map(({ id }) => id));
  const removed = new Set(lineIds);
  const lines = graph.lines.filter(
    ({ id, source, target }) => removed.has(id) || gone.has(source) || gone.has(target),
  );
  const [only] = removable;
  const what =
    removable.length > 1
      ? counted(removable.length, "node")
      : only
        ? nameOfNode(only)
        : counted(lines.length, "line");
  return {
    label: `Delete ${what}`,
    changes: [...removable.map((node) => removalOf(pathOfNode(node))), ...lines.map(removalOfLine)],
    select: [],
  };
}

const removalOf = (path: DocumentPath): Change => ({ path, value: undefined });

export const removalOfLine = ({ index }: GraphLine): Change => removalOf(["connections", index]);

export function moveNodes(document: unknown, positions: readonly NodePosition[]): Edit {
  const { nodes } = readDocument(document);
  const changes = positions.flatMap(({ id, at }): Change[] => {
    const node = nodes.get(id);
    if (!node) return [];
    const { x, y } = roundedAt(at);
    return [
      ...(node.at?.x === x ? [] : [{ path: [...pathOfNode(node), "x"], value: x }]),
      ...(node.at?.y === y ? [] : [{ path: [...pathOfNode(node), "y"], value: y }]),
    ];
  });
  return { label: `Move ${counted(positions.length, "node")}`, changes };
}

/**
 * Draws or redirects a line. Duplicates and lines from a node to itself are ignored; lines that break a rule are
 * refused.
 */
export function connectPorts(
  document: unknown,
  one: PortAt,
  other: PortAt,
  replacing?: string,
): Edit | Refused | null {
  const graph = readDocument(document);
  const [from, to] = isEntry(one) && !isEntry(other) ? [other, one] : [one, other];
  const [source, target] = [graph.nodes.get(from.node), graph.nodes.get(to.node)];
  if (!source || !target || source === target || isEntry(from) || !isEntry(to)) return null;
  const old = graph.lines.find(({ id }) => id === replacing);
  const others = graph.lines.filter((line) => line !== old);
  const id = lineId(source.id, from.port, target.id);
  if (graph.lines.some((line) => line.id === id)) return null;
  if (target.type === "start")
    return { refused: "No line can lead to the Start: a run starts there." };
  const connection = connectionOf(source.id, from.port, target.id);
  const refused = violationOf({ ...graph, lines: others }, connection);
  if (refused !== null) return { refused };
  if (!isExit(source, from.port)) return null;
  return {
    label: `Connect ${nameOfNode(source)} to ${nameOfNode(target)}`,
    changes: [
      ...(old
        ? [changed(document, old, connection)]
        : appended(document, "connections", [connection])),
      ...(from.port === SUBAGENT ? clearedPrompt(target) : []),
    ],
  };
}

const isEntry = ({ port }: PortAt): boolean => port === input || port === calledAt;

type Connection = { source: string; target: string; sourceHandle?: string };

const connectionOf = (source: string, port: string, target: string): Connection => ({
  ...{ source, target },
  ...(port !== output && { sourceHandle: port }),
});

/** Replaces a connection and keeps its other properties. */
function changed(document: unknown, { index }: GraphLine, connection: Connection): Change {
  const before = isRecord(document) ? listOf(document.connections)[index] : null;
  const { sourceHandle: _, targetHandle: __, ...rest } = isRecord(before) ? before : {};
  return { path: ["connections", index], value: { ...rest, ...connection } };
}

/** Returns the subagent rule that a new connection would break; null if none. */
function violationOf({ nodes, lines }: ReadGraph, connection: Connection): string | null {
  const readable = [...nodes.values()].filter(({ id }) => !id.startsWith("__"));
  return newViolation(
    {
      nodes: readable.map(({ id, type, data }) => ({ id, type, data })),
      connections: lines.map(({ source, port, target }) => connectionOf(source, port, target)),
    },
    connection,
  );
}

/** Clears the prompt of a subagent, because its caller prompts it. */
function clearedPrompt(target: GraphNode): Change[] {
  const { userPrompt } = target.data;
  const path = [...pathOfNode(target), "data"];
  return typeof userPrompt === "string" && userPrompt !== ""
    ? [{ path: [...path, "userPrompt"], value: "" }]
    : [];
}

/** Returns the nodes and the lines between them, for the clipboard. */
export function copyNodes(document: unknown, ids: readonly string[]): unknown {
  const graph = readDocument(document);
  const start = startOf(graph);
  const copied = ids
    .map((id) => graph.nodes.get(id))
    .filter((node) => node !== undefined && node !== start);
  const chosen = new Set(copied.map((node) => node?.id));
  const { nodes, connections } = isRecord(document) ? document : {};
  return {
    nodes: copied.map((node) => listOf(nodes)[node?.index ?? -1]),
    connections: graph.lines
      .filter(({ source, target }) => chosen.has(source) && chosen.has(target))
      .map(({ index }) => listOf(connections)[index]),
  };
}

/** Pastes a fragment's nodes under new ids. Returns null if the fragment is not a part of a graph. */
export function pasteNodes(document: unknown, fragment: unknown, at: Point): Edit | Refused | null {
  if (!isRecord(fragment) || !Array.isArray(fragment.nodes)) return null;
  const pasted = readDocument(fragment);
  const given = [...pasted.nodes.values()].filter(({ type }) => type !== "start");
  if (given.length === 0) {
    return pasted.nodes.size > 0 ? { refused: "The graph already has a Start." } : null;
  }
  const first = nextNumber(readDocument(document));
  const ids = new Map(given.map(({ id }, index) => [id, `node_${first + index}`]));
  const corner = cornerOf(given);
  const nodes = given.map((node, index) => {
    const place = node.at ?? { x: corner.x + index * 40, y: corner.y + index * 40 };
    const raw = listOf(fragment.nodes)[node.index];
    return {
      ...(isRecord(raw) ? structuredClone(raw) : {}),
      ...{ id: ids.get(node.id), type: node.type },
      ...roundedAt({ x: at.x + place.x - corner.x, y: at.y + place.y - corner.y }),
    };
  });
  const connections = pasted.lines.flatMap(({ source, port, target }) => {
    const [from, to] = [ids.get(source), ids.get(target)];
    return from !== undefined && to !== undefined ? [connectionOf(from, port, to)] : [];
  });
  return {
    label: `Paste ${counted(nodes.length, "node")}`,
    changes: [
      ...appended(document, "nodes", nodes),
      ...appended(document, "connections", connections),
    ],
    select: [...ids.values()],
  };
}

function cornerOf(nodes: readonly GraphNode[]): Point {
  const placed = nodes.flatMap(({ at }) => at ?? []);
  if (placed.length === 0) return { x: 0, y: 0 };
  return { x: Math.min(...placed.map(({ x }) => x)), y: Math.min(...placed.map(({ y }) => y)) };
}

export function foldNodes(document: unknown, ids: readonly string[], isFolded: boolean): Edit {
  const { nodes } = readDocument(document);
  const changes = ids.flatMap((id): Change[] => {
    const node = nodes.get(id);
    if (!node) return [];
    return setInData(document, node, ["collapsed"], isFolded ? true : undefined);
  });
  return { label: isFolded ? "Collapse" : "Expand", changes };
}

/** Returns the prompt of a graph, which is the input of its Start; null without a Start. */
export function promptOf(document: unknown): string | null {
  const start = startOf(readDocument(document));
  return start && textOf(start.data.initialInput);
}

/** Returns the edit that sets the prompt of a graph. Refused without a Start. */
export function editPrompt(document: unknown, text: string): Edit | Refused {
  const start = startOf(readDocument(document));
  if (!start) return { refused: "The graph has no Start." };
  const changes = setInData(document, start, ["initialInput"], text);
  return { label: "Edit the prompt", merge: "prompt", changes };
}

/** Sets a value in a node's data, which may not be an object yet. */
export function setInData(
  document: unknown,
  node: GraphNode,
  path: DocumentPath,
  value: unknown,
): Change[] {
  const at = [...pathOfNode(node), "data"];
  const raw = isRecord(document) ? listOf(document.nodes)[node.index] : null;
  const hasData = isRecord(raw) && isRecord(raw.data);
  if (hasData) return [{ path: [...at, ...path], value }];
  if (value === undefined) return [];
  const [name = "", ...rest] = path.map(String);
  const inner = rest.reduceRight<unknown>((held, key) => ({ [key]: held }), value);
  return [{ path: at, value: { [name]: inner } }];
}

/** Moves lines to the new numbers of their conditions, and removes the lines of removed conditions. */
export function renumbered(
  { lines }: ReadGraph,
  node: GraphNode,
  numberOf: (before: number) => number | null,
): Change[] {
  return lines.flatMap((line): Change[] => {
    const before = line.source === node.id ? conditionAt(line.port) : null;
    if (before === null) return [];
    const after = numberOf(before);
    if (after === null) return [removalOfLine(line)];
    if (after === before) return [];
    return [{ path: ["connections", line.index, "sourceHandle"], value: `condition-${after}` }];
  });
}
