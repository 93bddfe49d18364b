import {
  Background,
  BaseEdge,
  Controls,
  type Edge,
  type EdgeProps,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  useReactFlow,
  useStore,
  type Viewport,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type KeyboardEvent, type RefObject, useEffect, useMemo, useRef } from "react";
import { count as grouped, roleName } from "../../lib/format.ts";
import { nodeStates, Pill } from "../../ui/states.tsx";
import type { Graph, GraphEdge, GraphNode } from "./graph.ts";
import { layoutOf, type Point, type Rect, rectsOf } from "../../ui/layout.ts";

type Props = {
  graph: Graph;
  label: string;
  /** The id of the selected row. */
  selected?: string | null;
  /** Shows the row of a node. */
  onSelect?: (row: string) => void;
  /** Whether the drawing fills the height around it. */
  fills?: boolean;
};

const nodeTypes = { role: RoleBox };
const edgeTypes = { routed: RoutedEdge };
const arrow = { type: MarkerType.ArrowClosed, width: 16, height: 16 };

const describedBy = (text: string) => ({
  "node.a11yDescription.default": text,
  "node.a11yDescription.keyboardDisabled": text,
});
const leading = describedBy("Press Enter for its details.");
const still = describedBy("Read-only.");

export const nodeSize = { width: 190, height: 56 };

/** The place of each node, and the route of each edge, in the coordinates of the drawing. */
type Layout = {
  nodes: ReadonlyMap<string, Rect>;
  edges: readonly { edge: GraphEdge; points: readonly Point[]; label: Point }[];
  size: { width: number; height: number };
};

export function layoutOfGraph({ nodes, edges }: Graph): Layout {
  const { boxes, routes, size } = layoutOf({
    ...{ isWide: false, gap: { node: 40, rank: 56 }, inset: { side: 20, top: 44, bottom: 20 } },
    nodes: nodes.map((node) => ({ ...node, isContainer: node.isGroup, size: nodeSize })),
    edges: edges.map(({ from, to, label }) => {
      const room = { width: label ? label.length * 7 + 8 : 8, height: 18 };
      return { source: from, target: to, room };
    }),
  });
  const local = new Map(boxes);
  const all = rectsOf(nodes, local, local);
  const routed = routes.flatMap(({ edge: index, source, target, around: outer, points, label }) => {
    const edge = edges[index];
    const { x = 0, y = 0 } = all.get(outer ?? "") ?? {};
    const at = (point: Point) => ({ x: point.x + x, y: point.y + y });
    const shown = edge && { ...edge, from: source, to: target };
    return shown ? [{ edge: shown, points: points.map(at), label: at(label) }] : [];
  });
  return { nodes: all, edges: routed, size };
}

const around = 60;
const mostHeight = 20_000;
/** Minimum height of a graph that exceeds the window, in pixels. Its buttons are then at the top. */
const high = 900;

/** A node at its position in the layout. Boxes are below their nodes. */
function nodeAt(node: GraphNode, { nodes }: Layout, isSelected: boolean, leads: boolean): RoleNode {
  const { x = 0, y = 0, width = 0, height = 0 } = nodes.get(node.id) ?? {};
  return {
    id: node.id,
    type: "role",
    position: { x, y },
    data: { node, isSelected },
    zIndex: node.isGroup ? depthOf(node.id) : 100,
    ...{ width, height },
    ...(leads && node.row !== null ? { ariaRole: "button" } : { ariaLabel: nameOf(node) }),
  };
}

/** Inner boxes are above outer boxes. */
const depthOf = (id: string): number => id.split("\n").length;

function nameOf({ label, state, count }: GraphNode): string {
  const times = count > 0 ? `, ${count} times` : "";
  return `${roleName(label)}, ${nodeStates[state].word}${times}`;
}

const edgeAt = (route: Layout["edges"][number], index: number): Edge => ({
  id: String(index),
  type: "routed",
  source: route.edge.from,
  target: route.edge.to,
  label: route.edge.label ?? undefined,
  data: route,
  zIndex: 50,
  className: `edge-${route.edge.kind}`,
  markerEnd: arrow,
});

/** Minimum zoom of the first view. Texts are hard to read below it. */
const readable = 0.75;
const least = 0.1;
const margin = 20;

/** The viewport that shows the whole graph if it is readable, else its beginning. */
export function viewOf(
  { nodes, size }: Layout,
  { width, height }: { width: number; height: number },
  smallest: number = readable,
): Viewport {
  const fitting = Math.min((width - 2 * margin) / size.width, (height - 2 * margin) / size.height);
  const zoom = Math.min(1, Math.max(smallest, fitting));
  const [first] = nodes.values();
  const isNarrow = size.width * zoom <= width;
  const middle = isNarrow || !first ? size.width / 2 : first.x + first.width / 2;
  return {
    zoom,
    x: width / 2 - middle * zoom,
    y: Math.max(margin, (height - size.height * zoom) / 2),
  };
}

type FittingProps = {
  layout: Layout;
  isMoved: RefObject<boolean>;
  smallest: RefObject<number>;
};

function Fitting({ layout, isMoved, smallest }: FittingProps) {
  const { setViewport } = useReactFlow();
  const width = useStore((store) => store.width);
  const height = useStore((store) => store.height);
  useEffect(() => {
    if (!isMoved.current && width > 0)
      void setViewport(viewOf(layout, { width, height }, smallest.current));
  }, [setViewport, isMoved, smallest, layout, width, height]);
  return null;
}

/** A read-only graph that can be moved and zoomed. */
export function GraphDrawing({ graph, label, selected = null, onSelect, fills = false }: Props) {
  const isMoved = useRef(false);
  const smallest = useRef(readable);
  // Counts and states change often, but only a new shape needs a new layout.
  const shape = JSON.stringify([graph.nodes.map(({ id, isGroup }) => [id, isGroup]), graph.edges]);
  const layout = useMemo(() => layoutOfGraph(graph), [shape]);
  const leads = onSelect !== undefined;
  const nodes = graph.nodes.map((node) =>
    nodeAt(node, layout, selected !== null && node.row === selected, leads),
  );
  const edges = layout.edges.map(edgeAt);
  const show = (target: EventTarget) => {
    const id = nodeOf(target)?.dataset.id;
    const row = graph.nodes.find((node) => node.id === id)?.row;
    if (row) onSelect?.(row);
  };
  return (
    <figure
      style={fills ? undefined : { height: Math.min(layout.size.height + around, mostHeight) }}
      className={`graph w-full overflow-hidden ${fills ? "min-h-0 flex-1" : "mt-3 min-h-96 rounded-lg border"}`}
      aria-label={label}
      // The capture phase comes before React Flow, which selects and moves nodes with these keys.
      onKeyDownCapture={(event) => {
        if (!leads || !nodeOf(event.target) || !opens(event)) return;
        event.preventDefault();
        event.stopPropagation();
        show(event.target);
      }}
    >
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        // Moves without an event are not the user's.
        onMoveStart={(event) => {
          if (event) isMoved.current = true;
        }}
        minZoom={least}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        preventScrolling={false}
        zoomOnScroll={false}
        proOptions={{ hideAttribution: true }}
        ariaLabelConfig={leads ? leading : still}
        onNodeClick={({ target }) => show(target)}
      >
        <Background gap={18} />
        <Controls
          className="max-md:[&_button]:!size-10"
          showInteractive={false}
          position={layout.size.height > high ? "top-left" : "bottom-left"}
          fitViewOptions={{ padding: 0.04, maxZoom: 1 }}
          onZoomIn={() => (isMoved.current = true)}
          onZoomOut={() => (isMoved.current = true)}
          onFitView={() => {
            isMoved.current = false;
            smallest.current = least;
          }}
        />
        <Fitting layout={layout} isMoved={isMoved} smallest={smallest} />
      </ReactFlow>
    </figure>
  );
}

const nodeOf = (target: EventTarget): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>(".react-flow__node") : null;

const opens = ({ key }: KeyboardEvent): boolean => key === "Enter" || key === " ";

/** The `d` of an SVG path through points, with round corners. */
function pathThrough(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const last = rest.at(-1);
  const pieces = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? point;
    const middle = { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q ${point.x} ${point.y} ${middle.x} ${middle.y}`;
  });
  const end = last ? `L ${last.x} ${last.y}` : "";
  return [`M ${first.x} ${first.y}`, ...pieces, end].join(" ");
}

type RoleNode = Node<{ node: GraphNode; isSelected: boolean }, "role">;

function RoleBox({ data: { node, isSelected } }: NodeProps<RoleNode>) {
  const { label, note, count, state, isGroup } = node;
  const { icon: Icon, word, look, border } = nodeStates[state];
  const fill = isGroup ? "items-start bg-sunken/60 pt-3" : "items-center bg-surface";
  return (
    <div
      className={`flex size-full gap-2 rounded-lg border px-3 ${fill} ${border || "border-line-strong"} ${isSelected ? "outline-2 outline-offset-2 outline-accent" : ""} ${node.row === null ? "" : "cursor-pointer"}`}
    >
      <Handle type="target" position={Position.Top} className="opacity-0" />
      <Icon className={`${look} ${isGroup ? "mt-0.5" : ""}`} />
      <span className="flex min-w-0 flex-1 flex-col">
        <span className="truncate font-semibold">{roleName(label)}</span>
        {note !== null && note !== label && !isGroup && (
          <span className="truncate font-mono text-small text-faint">{note}</span>
        )}
      </span>
      {count > 0 && (
        <Pill>
          {grouped(count)}
          <span className="sr-only"> times</span>
        </Pill>
      )}
      <span className="sr-only">{word}</span>
      <Handle type="source" position={Position.Bottom} className="opacity-0" />
    </div>
  );
}

type Route = Layout["edges"][number];

/** An edge along the layout's route, so that it does not cover its reverse edge. */
function RoutedEdge({ id, label, data, markerEnd }: EdgeProps) {
  const { points, label: position } = data as Route;
  return (
    <BaseEdge
      id={id}
      path={pathThrough(points)}
      markerEnd={markerEnd}
      label={label}
      labelX={position.x}
      labelY={position.y}
    />
  );
}
