import {
  type DrawnEdge,
  type DrawnNode,
  isSame,
  type Point,
  type Port,
} from "@uncaged/workflow/editing";
import { type Edge, MarkerType, type Node, type NodeHandle, Position } from "@xyflow/react";
import { useRef } from "react";
import type { Size } from "../../ui/layout.ts";
import { portAt } from "./geometry.ts";

export type FlowNode = Node<{ node: DrawnNode; size: Size }, "box">;

export const positionOf = {
  top: Position.Top,
  right: Position.Right,
  bottom: Position.Bottom,
  left: Position.Left,
} as const;

/** The side of a port. Lines into a container leave from its left side. */
export const sideOf = ({ side, role }: Port, { isContainer }: DrawnNode): Position =>
  isContainer && role === "out" && side === "left" ? Position.Right : positionOf[side];

const handleSize = 12;

/** Handle positions, computed: nodes out of view have no element to measure. */
const handleOf = (node: DrawnNode, size: Size, port: Port): NodeHandle => {
  const { x, y } = portAt(node, size, port);
  return {
    id: port.id,
    type: port.role === "in" ? "target" : "source",
    position: sideOf(port, node),
    x: x - handleSize / 2,
    y: y - handleSize / 2,
    width: handleSize,
    height: handleSize,
  };
};

type Look = {
  positions: ReadonlyMap<string, Point>;
  sizes: ReadonlyMap<string, Size>;
  dragged: ReadonlyMap<string, Point>;
  selected: ReadonlySet<string>;
  noteOf: (node: DrawnNode) => string;
  isEditable: boolean;
};

/** The nodes for the drawing library. Unchanged nodes keep their object. */
export function useFlowNodes(nodes: readonly DrawnNode[], look: Look): FlowNode[] {
  const before = useRef(new Map<string, FlowNode>());
  const after = new Map<string, FlowNode>();
  for (const node of nodes) {
    const { id, parent } = node;
    const position = look.dragged.get(id) ?? look.positions.get(id);
    const size = look.sizes.get(id);
    if (!position || !size || (parent !== null && !after.has(parent))) continue;
    const selected = look.selected.has(id);
    const ariaLabel = `${node.title}, ${look.noteOf(node)}`;
    const last = before.current.get(id);
    const isKept =
      last?.data.node === node &&
      last.selected === selected &&
      last.ariaLabel === ariaLabel &&
      last.draggable === look.isEditable &&
      isSame(last.position, position) &&
      isSame(last.data.size, size);
    const made = (): FlowNode => ({
      ...{ id, position, selected, ariaLabel, draggable: look.isEditable },
      type: "box",
      data: { node, size },
      ...size,
      measured: size,
      handles: node.ports.map((port) => handleOf(node, size, port)),
      ...(parent !== null && { parentId: parent }),
    });
    after.set(id, isKept ? last : made());
  }
  before.current = after;
  return [...after.values()];
}

const arrow = { type: MarkerType.ArrowClosed, width: 14, height: 14 };

export const flowEdges = (
  edges: readonly DrawnEdge[],
  selected: ReadonlySet<string>,
  marks: ReadonlyMap<string, string>,
): Edge[] =>
  edges.map(({ id, source, sourcePort, target, targetPort, label, look }) => ({
    id,
    type: "line",
    source,
    sourceHandle: sourcePort,
    target,
    targetHandle: targetPort,
    label: label ?? undefined,
    className: `edge-${marks.get(id) ?? look}`,
    selected: selected.has(id),
    markerEnd: arrow,
    ariaLabel: `Line from ${source} to ${target}`,
  }));
