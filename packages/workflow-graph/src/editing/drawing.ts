import {
  type DrawnEdge,
  type DrawnNode,
  type Drawing,
  isRecord,
  type Port,
  shortened,
  type Side,
  textOf,
} from "@uncaged/workflow/editing";
import { REJECTED, SUBAGENT } from "../document/graph.ts";
import {
  callsSubagents,
  conditionPort,
  conditionsOf,
  type GraphLine,
  type GraphNode,
  hasGuardrail,
  nameOfNode,
  output,
  pathOfNode,
  type ReadGraph,
  readCondition,
  readDocument,
  startOf,
} from "./graph-document.ts";

export const input = "input";
export const calledAt = "called";
/** The single port for all conditions of a collapsed node. */
const allConditions = "conditions";

export function drawingOf(document: unknown): Drawing {
  const graph = readDocument(document);
  const start = startOf(graph);
  const lines = graph.lines.filter(
    ({ source, target }) => graph.nodes.has(source) && graph.nodes.has(target),
  );
  const leaving = Map.groupBy(lines, ({ source }) => source);
  const arriving = Map.groupBy(lines, ({ target }) => target);
  const nodes = [...graph.nodes.values()].map((node) => ({
    ...nodeAt(node, start),
    ports: portsOf(node, leaving.get(node.id) ?? [], arriving.get(node.id) ?? []),
  }));
  return { nodes, edges: lines.map((line) => edgeOf(line, graph)) };
}

function nodeAt(node: GraphNode, start: GraphNode | null): Omit<DrawnNode, "ports"> {
  const { id, type, at } = node;
  return {
    ...{ id, type, at, title: nameOfNode(node), lines: linesOf(node) },
    ...{ parent: null, isContainer: false, isFixed: node === start, path: pathOfNode(node) },
  };
}

/** Returns the line of a connection. A collapsed condition node has one port for all conditions. */
function edgeOf({ id, source, target, port, index }: GraphLine, { nodes }: ReadGraph): DrawnEdge {
  const from = nodes.get(source);
  const isHidden = from !== undefined && foldsConditions(from) && isCondition(from, port);
  return {
    ...{ id, source, target, path: ["connections", index] },
    sourcePort: isHidden ? allConditions : port,
    targetPort: port === SUBAGENT ? calledAt : input,
    label: isHidden ? `condition ${Number(port.slice("condition-".length)) + 1}` : null,
    look: port === SUBAGENT ? "tool" : "next",
  };
}

export const isCollapsed = ({ data }: GraphNode): boolean => data.collapsed === true;

const foldsConditions = (node: GraphNode): boolean =>
  isCollapsed(node) && conditionsOf(node.data).length > 1;

const isCondition = (node: GraphNode, port: string): boolean =>
  node.type === "if" && conditionsOf(node.data).some((_, index) => port === conditionPort(index));

const portAt = (role: Port["role"], side: Side, id: string, label: string | null = null): Port => ({
  ...{ id, role, side, label, isOpen: true },
});

/** Returns the ports of a node. A line at an unknown port gets a closed port. */
function portsOf(
  node: GraphNode,
  leaving: readonly GraphLine[],
  arriving: readonly GraphLine[],
): Port[] {
  const known = ownPorts(node);
  const shown = (port: string) =>
    foldsConditions(node) && isCondition(node, port) ? allConditions : port;
  const missing = (id: string, role: Port["role"]) =>
    !known.some((port) => port.id === id && port.role === role);
  const used = new Set(leaving.map(({ port }) => shown(port)));
  const ends = new Set(arriving.map(({ port }) => (port === SUBAGENT ? calledAt : input)));
  return [
    ...known,
    ...[...used].filter((id) => missing(id, "out")).map((id) => closed("out", "right", id)),
    ...[...ends]
      .filter((id) => missing(id, "in"))
      .map((id) => closed("in", id === calledAt ? "top" : "left", id)),
  ];
}

const closed = (role: Port["role"], side: Side, id: string): Port => ({
  ...portAt(role, side, id, role === "out" ? id : null),
  isOpen: false,
  hint: "Unknown port: remove the line.",
});

export const isExit = (node: GraphNode, id: string): boolean =>
  ownPorts(node).some((port) => port.id === id && port.role === "out" && port.isOpen);

function ownPorts(node: GraphNode): Port[] {
  const entry = { ...portAt("in", "left", input), hint: "Previous nodes" };
  const exit = { ...portAt("out", "right", output), hint: "Next nodes" };
  switch (node.type) {
    case "start":
      return [exit];
    case "agent":
      return [
        entry,
        { ...portAt("in", "top", calledAt), hint: "Calling agent" },
        exit,
        ...(hasGuardrail(node)
          ? [{ ...portAt("out", "right", REJECTED, REJECTED), hint: "After the last retry" }]
          : []),
        ...(callsSubagents(node)
          ? [{ ...portAt("out", "bottom", SUBAGENT, "subagents"), hint: "Subagents" }]
          : []),
      ];
    case "if":
      return [entry, ...conditionPorts(node), portAt("out", "right", "false", "else")];
    case "approval":
      return [
        entry,
        portAt("out", "right", "approve", "approve"),
        portAt("out", "right", "reject", "reject"),
      ];
    default:
      return [entry, exit];
  }
}

function conditionPorts(node: GraphNode): Port[] {
  const conditions = conditionsOf(node.data);
  if (foldsConditions(node)) {
    const label = `${conditions.length} conditions`;
    const hint = "Expand the condition to connect its branches.";
    return [{ ...portAt("out", "right", allConditions, label), isOpen: false, hint }];
  }
  return conditions.map((given, index) => {
    const { operator, value } = readCondition(given);
    const hint = `Condition ${index + 1}: ${operator} ${JSON.stringify(value)}`;
    return { ...portAt("out", "right", conditionPort(index), shortened(value || "…", 18)), hint };
  });
}

/** Returns the lines of a node's body: at most four, or one if the node is collapsed. */
function linesOf(node: GraphNode): string[] {
  const lines = bodyOf(node).filter((line) => line.trim() !== "");
  return lines.slice(0, isCollapsed(node) ? 1 : 4).map((line) => shortened(line, 120));
}

function bodyOf({ type, data }: GraphNode): string[] {
  switch (type) {
    case "start":
      return [textOf(data.initialInput)];
    case "agent": {
      const effort = textOf(data.reasoningEffort);
      const model = [textOf(data.model) || "gpt-5", effort && `${effort} effort`];
      const tools = Object.entries(isRecord(data.tools) ? data.tools : {})
        .filter(([name, isOn]) => isOn === true && name !== "subagents")
        .map(([name]) => name);
      return [
        model.filter(Boolean).join(" · "),
        textOf(data.systemPrompt),
        textOf(data.userPrompt),
        tools.join(", "),
      ];
    }
    case "if":
      return conditionsOf(data).map((given) => {
        const { operator, value } = readCondition(given);
        return `${operator === "equal" ? "is" : "contains"} “${value}”`;
      });
    case "approval":
      return [textOf(data.prompt)];
    default:
      return [];
  }
}
