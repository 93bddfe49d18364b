import { Background, Controls, type Edge, MarkerType, ReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type CSSProperties, useMemo, useRef } from "react";
import { roleName } from "../format/role.ts";
import { useIsDark } from "../theme/theme.ts";
import { RoleBox, type RoleNode } from "./role-box.tsx";
import styles from "./graph.module.css";
import { type Layout, layoutOf, nodeSize } from "./layout.ts";
import { type NodeActions, NodeMenu } from "./node-menu.tsx";
import type { Graph, GraphNode } from "./role-graph.ts";
import { nodeOf, opens, useNodeMenu } from "./use-node-menu.ts";
import { Way } from "./way.tsx";

type Props = {
  graph: Graph;
  label: string;
  /** What can be done with a node; nothing when not given. */
  actions?: NodeActions;
};

const nodeTypes = { role: RoleBox };
const edgeTypes = { way: Way };
const arrow = { type: MarkerType.ArrowClosed, width: 16, height: 16 };

const spokenAs = (text: string) => ({
  "node.a11yDescription.default": text,
  "node.a11yDescription.keyboardDisabled": text,
});
const leading = spokenAs("Press Enter for what can be done with it.");
const still = spokenAs("It can be read, not changed.");

/** As wide as the page, and as high as that makes the graph: the page scrolls, the graph is not made tiny. */
function boxOf({ nodes }: Layout): CSSProperties {
  const places = [...nodes.values()];
  const width = Math.max(1, ...places.map(({ x }) => x + nodeSize.width)) + around;
  const height = Math.max(1, ...places.map(({ y }) => y + nodeSize.height)) + around;
  return { aspectRatio: `${width} / ${height}`, maxHeight: Math.min(height, mostHeight) };
}

const around = 60;
const mostHeight = 20_000;
/** In a graph that is higher than a window the buttons stand where its reader begins. */
const isHigh = ({ nodes }: Layout): boolean => [...nodes.values()].some(({ y }) => y > 900);

/** A node where the layout has it. What can be pressed is named by what it shows. */
const boxAt = (node: GraphNode, { nodes }: Layout, canBePressed: boolean): RoleNode => ({
  id: node.id,
  type: "role",
  position: nodes.get(node.id) ?? { x: 0, y: 0 },
  data: { node },
  ...nodeSize,
  ...(canBePressed
    ? { ariaRole: "button", domAttributes: { "aria-haspopup": "menu" } }
    : { ariaLabel: `${roleName(node.label)}, ${node.state}, ${node.count} times` }),
});

const wayAt = (
  { from, to, label, kind }: Graph["edges"][number],
  index: number,
  { edges }: Layout,
): Edge => ({
  id: String(index),
  type: "way",
  source: from,
  target: to,
  label: label ?? undefined,
  data: edges[index],
  className: styles[kind],
  markerEnd: arrow,
});

/** Draws a graph; it can be moved and enlarged, not changed. */
export function GraphDrawing({ graph, label, actions }: Props) {
  const isDark = useIsDark();
  const figure = useRef<HTMLElement>(null);
  // Counts and states change all the time: only another shape is laid out anew.
  const shape = JSON.stringify([graph.nodes.map(({ id }) => id), graph.edges]);
  const layout = useMemo(() => layoutOf(graph), [shape]);
  const nodes = graph.nodes.map((node) => boxAt(node, layout, actions !== undefined));
  const edges = graph.edges.map((edge, index) => wayAt(edge, index, layout));
  const menu = useNodeMenu(figure);
  const openAt = (node: HTMLElement | null) => actions && node && menu.openAt(node);
  const chosen = graph.nodes.find(({ id }) => id === menu.id);
  return (
    <figure
      ref={figure}
      style={boxOf(layout)}
      className={styles.graph}
      aria-label={label}
      // Before the drawing has them: to it they would mean to select, and to move about.
      onKeyDownCapture={(event) => {
        const node = nodeOf(event.target);
        if (!node || !opens(event)) return;
        event.preventDefault();
        event.stopPropagation();
        openAt(node);
      }}
    >
      <ReactFlow
        key={shape}
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        colorMode={isDark ? "dark" : "light"}
        fitView
        fitViewOptions={{ padding: 0.04, minZoom: 0.5, maxZoom: 1 }}
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
        />
      </ReactFlow>
      {actions && chosen && (
        <NodeMenu
          node={chosen}
          actions={actions}
          anchor={menu.anchor}
          isOpen={menu.isOpen}
          onClose={menu.close}
        />
      )}
    </figure>
  );
}
