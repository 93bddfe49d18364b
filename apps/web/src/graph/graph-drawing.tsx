import { Background, Controls, type Edge, MarkerType, ReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type CSSProperties, useMemo } from "react";
import { roleName } from "../format/role.ts";
import { useIsDark } from "../theme/theme.ts";
import { RoleBox, type RoleNode } from "./role-box.tsx";
import styles from "./graph.module.css";
import { type Layout, layoutOf, nodeSize } from "./layout.ts";
import type { Graph } from "./role-graph.ts";
import { Way } from "./way.tsx";

type Props = {
  graph: Graph;
  label: string;
  /** The reader chose a node that has run: the number of its last step. */
  onStep?: (number: number) => void;
};

const nodeTypes = { role: RoleBox };
const edgeTypes = { way: Way };
const arrow = { type: MarkerType.ArrowClosed, width: 16, height: 16 };

const spokenAs = (text: string) => ({
  "node.a11yDescription.default": text,
  "node.a11yDescription.keyboardDisabled": text,
});
const leading = spokenAs("Press Enter to see its last step.");
const still = spokenAs("It can be read, not changed.");

/** As wide as the page, and as high as that makes the graph: the page scrolls, the graph is not made tiny. */
function boxOf({ nodes }: Layout): CSSProperties {
  const places = [...nodes.values()];
  const width = Math.max(1, ...places.map(({ x }) => x + nodeSize.width)) + around;
  const height = Math.max(1, ...places.map(({ y }) => y + nodeSize.height)) + around;
  return { aspectRatio: `${width} / ${height}`, maxHeight: Math.min(height, 1_800) };
}

const around = 60;

/** Draws a graph; it can be moved and enlarged, not changed. */
export function GraphDrawing({ graph, label, onStep }: Props) {
  const isDark = useIsDark();
  // Counts and states change all the time: only another shape is laid out anew.
  const shape = JSON.stringify([graph.nodes.map(({ id }) => id), graph.edges]);
  const layout = useMemo(() => layoutOf(graph), [shape]);
  const nodes = graph.nodes.map(
    (node): RoleNode => ({
      id: node.id,
      type: "role",
      position: layout.nodes.get(node.id) ?? { x: 0, y: 0 },
      data: { node },
      ...nodeSize,
      ariaLabel: `${roleName(node.label)}, ${node.state}, ${node.count} times`,
    }),
  );
  const edges = graph.edges.map(
    ({ from, to, label: text, kind }, index): Edge => ({
      id: String(index),
      type: "way",
      source: from,
      target: to,
      label: text ?? undefined,
      data: layout.edges[index],
      className: styles[kind],
      markerEnd: arrow,
    }),
  );
  const choose = (id: string) => {
    const number = graph.nodes.find((node) => node.id === id)?.lastStep ?? null;
    if (number !== null) onStep?.(number);
  };
  return (
    <figure
      style={boxOf(layout)}
      className={styles.graph}
      aria-label={label}
      onKeyDown={({ key, target }) => {
        const node = target instanceof Element && target.closest<HTMLElement>(".react-flow__node");
        if (key === "Enter" && node) choose(node.dataset.id ?? "");
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
        fitViewOptions={{ padding: 0.04, maxZoom: 1 }}
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        preventScrolling={false}
        zoomOnScroll={false}
        proOptions={{ hideAttribution: true }}
        ariaLabelConfig={onStep ? leading : still}
        onNodeClick={(_, { id }) => choose(id)}
      >
        <Background gap={18} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </figure>
  );
}
