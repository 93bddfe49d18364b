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
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type CSSProperties, type RefObject, useEffect, useMemo, useRef } from "react";
import { count as grouped, roleName } from "../../lib/format.ts";
import { type NodeState, nodeStates, Pill } from "../../ui/states.tsx";
import type { Graph, GraphNode } from "./graph.ts";
import { type Layout, layoutOf, nodeSize, type Point } from "./layout.ts";
import { type NodeActions, NodeMenu, nodeOf, opens, useNodeMenu } from "./node-menu.tsx";

type Props = {
  graph: Graph;
  label: string;
  actions?: NodeActions;
};

const nodeTypes = { role: RoleBox };
const edgeTypes = { routed: RoutedEdge };
const arrow = { type: MarkerType.ArrowClosed, width: 16, height: 16 };

const describedBy = (text: string) => ({
  "node.a11yDescription.default": text,
  "node.a11yDescription.keyboardDisabled": text,
});
const leading = describedBy("Press Enter for its menu.");
const still = describedBy("Read-only.");

/** The style of the box: full width and the height of the graph, so that the text stays readable. */
function boxOf({ nodes }: Layout): CSSProperties {
  const positions = [...nodes.values()];
  const width = Math.max(1, ...positions.map(({ x }) => x + nodeSize.width)) + around;
  const height = Math.max(1, ...positions.map(({ y }) => y + nodeSize.height)) + around;
  return { aspectRatio: `${width} / ${height}`, maxHeight: Math.min(height, mostHeight) };
}

const around = 60;
const mostHeight = 20_000;
/** Whether a graph is higher than a window. The buttons are then at its top. */
const isHigh = ({ nodes }: Layout): boolean => [...nodes.values()].some(({ y }) => y > 900);

/** A node at its position in the layout. */
const nodeAt = (node: GraphNode, { nodes }: Layout, canBePressed: boolean): RoleNode => ({
  id: node.id,
  type: "role",
  position: nodes.get(node.id) ?? { x: 0, y: 0 },
  data: { node },
  ...nodeSize,
  ...(canBePressed
    ? { ariaRole: "button", domAttributes: { "aria-haspopup": "menu" } }
    : { ariaLabel: nameOf(node) }),
});

function nameOf({ label, state, count }: GraphNode): string {
  const times = count > 0 ? `, ${count} times` : "";
  return `${roleName(label)}, ${nodeStates[state].word}${times}`;
}

const edgeAt = (
  { from, to, label, kind }: Graph["edges"][number],
  index: number,
  { edges }: Layout,
): Edge => ({
  id: String(index),
  type: "routed",
  source: from,
  target: to,
  label: label ?? undefined,
  data: edges[index],
  className: `edge-${kind}`,
  markerEnd: arrow,
});

const fitted = { padding: 0.04, minZoom: 0.5, maxZoom: 1 };

function Fitting({ shape, isMoved }: { shape: string; isMoved: RefObject<boolean> }) {
  const { fitView } = useReactFlow();
  const width = useStore((store) => store.width);
  const height = useStore((store) => store.height);
  useEffect(() => {
    if (!isMoved.current) void fitView(fitted);
  }, [fitView, isMoved, shape, width, height]);
  return null;
}

/** A read-only graph that can be moved and zoomed. */
export function GraphDrawing({ graph, label, actions }: Props) {
  const figure = useRef<HTMLElement>(null);
  const isMoved = useRef(false);
  // Counts and states change often, but only a new shape needs a new layout.
  const shape = JSON.stringify([graph.nodes.map(({ id }) => id), graph.edges]);
  const layout = useMemo(() => layoutOf(graph), [shape]);
  const nodes = graph.nodes.map((node) => nodeAt(node, layout, actions !== undefined));
  const edges = graph.edges.map((edge, index) => edgeAt(edge, index, layout));
  const menu = useNodeMenu(figure);
  const openAt = (node: HTMLElement | null) => actions && node && menu.openAt(node);
  const chosen = graph.nodes.find(({ id }) => id === menu.id);
  return (
    <figure
      ref={figure}
      style={boxOf(layout)}
      className="graph mt-3 min-h-96 w-full overflow-hidden rounded-lg border"
      aria-label={label}
      // The capture phase comes before React Flow, which selects and moves nodes with these keys.
      onKeyDownCapture={(event) => {
        const node = nodeOf(event.target);
        if (!node || !opens(event)) return;
        event.preventDefault();
        event.stopPropagation();
        openAt(node);
      }}
    >
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        fitView
        fitViewOptions={fitted}
        // Moves without an event come from this page.
        onMoveStart={(event) => {
          if (event) isMoved.current = true;
        }}
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        preventScrolling={false}
        zoomOnScroll={false}
        proOptions={{ hideAttribution: true }}
        ariaLabelConfig={actions ? leading : still}
        onNodeClick={({ target }) => openAt(nodeOf(target))}
        onNodeContextMenu={(event) => {
          if (actions) event.preventDefault();
          openAt(nodeOf(event.target));
        }}
      >
        <Background gap={18} />
        <Controls
          showInteractive={false}
          position={isHigh(layout) ? "top-left" : "bottom-left"}
          fitViewOptions={{ padding: 0.04, maxZoom: 1 }}
          onZoomIn={() => (isMoved.current = true)}
          onZoomOut={() => (isMoved.current = true)}
          onFitView={() => (isMoved.current = false)}
        />
        <Fitting shape={shape} isMoved={isMoved} />
      </ReactFlow>
      {actions && chosen && <NodeMenu node={chosen} actions={actions} menu={menu} />}
    </figure>
  );
}

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

type RoleNode = Node<{ node: GraphNode }, "role">;

const ended = "border-dashed border-line-strong text-muted [&>svg]:text-faint";

const looks: Record<NodeState, string> = {
  idle: ended,
  committed: "border-line-strong [&>svg]:text-green",
  running: "border-blue ring-3 ring-blue-soft [&>svg]:text-blue",
  waiting: "border-amber [&>svg]:text-amber",
  failed: "border-red [&>svg]:text-red",
  skipped: ended,
  cancelled: ended,
  lost: ended,
  parked: "border-amber [&>svg]:text-amber",
};

function RoleBox({ data: { node } }: NodeProps<RoleNode>) {
  const { label, note, count, state } = node;
  const { icon: Icon, word } = nodeStates[state];
  return (
    <div
      className={`flex h-[56px] w-[190px] cursor-pointer items-center gap-2 rounded-lg border bg-surface px-3 shadow-sm ${looks[state]}`}
    >
      <Handle type="target" position={Position.Top} className="opacity-0" />
      <Icon />
      <span className="flex min-w-0 flex-1 flex-col">
        <span className="truncate font-semibold">{roleName(label)}</span>
        {note !== null && note !== label && (
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
