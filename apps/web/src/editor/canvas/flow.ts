import type { DrawnEdge, DrawnNode, Point, Port } from "@uncaged/workflow/editing";
import { type Edge, MarkerType, type Node, type NodeHandle, Position } from "@xyflow/react";
import { useRef } from "react";
import type { Size } from "../../ui/layout.ts";
import { portAt } from "./geometry.ts";

export type FlowNode = Node<{ node: DrawnNode; size: Size }, "box" | "container">;

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

type Kept = {
  node: DrawnNode;
  at: Point;
  size: Size;
  isSelected: boolean;
  note: string;
  flow: FlowNode;
};

const isSamePlace = ({ at, size }: Kept, point: Point, { width, height }: Size): boolean =>
  at.x === point.x && at.y === point.y && size.width === width && size.height === height;

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
  const before = useRef(new Map<string, Kept>());
  const { positions, sizes, dragged, selected, noteOf, isEditable } = look;
  const after = new Map<string, Kept>();
  const all: FlowNode[] = [];
  for (const node of nodes) {
    const at = dragged.get(node.id) ?? positions.get(node.id);
    const size = sizes.get(node.id);
    if (!at || !size || (node.parent !== null && !after.has(node.parent))) continue;
    const isSelected = selected.has(node.id);
    const note = noteOf(node);
    const last = before.current.get(node.id);
    const isKept =
      last?.node === node &&
      last.isSelected === isSelected &&
      last.note === note &&
      last.flow.draggable === isEditable &&
      isSamePlace(last, at, size);
    const kept = isKept
      ? last
      : {
          node,
          at,
          size,
          isSelected,
          note,
          flow: flowNode(node, at, size, isSelected, note, isEditable),
        };
    after.set(node.id, kept);
    all.push(kept.flow);
  }
  before.current = after;
  return all;
}

const flowNode = (
  node: DrawnNode,
  at: Point,
  size: Size,
  selected: boolean,
  note: string,
  isEditable: boolean,
): FlowNode => ({
  id: node.id,
  type: node.isContainer ? "container" : "box",
  position: at,
  data: { node, size },
  ...size,
  measured: size,
  handles: node.ports.map((port) => handleOf(node, size, port)),
  selected,
  draggable: isEditable,
  ...(node.parent !== null && { parentId: node.parent }),
  ariaLabel: `${node.title}, ${note}`,
});

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
