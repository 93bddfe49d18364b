import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { CircleCheck, CircleDashed, LoaderCircle, MessageCircleQuestion } from "lucide-react";
import { useMemo } from "react";
import { roleName } from "../format/role.ts";
import { useIsDark } from "../theme/theme.ts";
import styles from "./graph.module.css";
import { nodeSize, placesOf } from "./layout.ts";
import type { Graph, GraphNode } from "./role-graph.ts";

type Props = {
  graph: Graph;
  label: string;
  /** The reader chose a node that has run: the number of its last step. */
  onStep?: (number: number) => void;
};

type RoleNode = Node<{ node: GraphNode }, "role">;

const nodeTypes = { role: RoleBox };

/** Draws a graph; it can be moved and enlarged, not changed. */
export function GraphDrawing({ graph, label, onStep }: Props) {
  const isDark = useIsDark();
  // Only what changes the shape is laid out anew: counts and states change all the time.
  const shape = JSON.stringify([graph.nodes.map(({ id }) => id), graph.edges]);
  const places = useMemo(() => placesOf(graph), [shape]);
  const nodes = graph.nodes.map(
    (node): RoleNode => ({
      id: node.id,
      type: "role",
      position: places.get(node.id) ?? { x: 0, y: 0 },
      data: { node },
      ...nodeSize,
      ariaLabel: `${roleName(node.label)}, ${node.state}, ${node.count} times`,
    }),
  );
  const edges = graph.edges.map(
    ({ from, to, label: text, kind }, index): Edge => ({
      id: String(index),
      source: from,
      target: to,
      label: text ?? undefined,
      className: styles[kind],
      markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
    }),
  );
  return (
    <figure className={styles.graph} aria-label={label}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        colorMode={isDark ? "dark" : "light"}
        fitView
        fitViewOptions={{ padding: 0.15, maxZoom: 1.1 }}
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        preventScrolling={false}
        zoomOnScroll={false}
        proOptions={{ hideAttribution: true }}
        onNodeClick={(_, { data }) => {
          if (data.node.lastStep !== null) onStep?.(data.node.lastStep);
        }}
      >
        <Background gap={18} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </figure>
  );
}

const icons = {
  idle: CircleDashed,
  done: CircleCheck,
  live: LoaderCircle,
  waiting: MessageCircleQuestion,
  failed: CircleDashed,
} as const;

function RoleBox({ data: { node } }: NodeProps<RoleNode>) {
  const { label, note, count, state } = node;
  const Icon = icons[state];
  return (
    <div className={`${styles.node} ${styles[state]}`}>
      <Handle type="target" position={Position.Top} className={styles.handle} />
      <Icon aria-hidden />
      <span className={styles.names}>
        <span className={styles.label}>{roleName(label)}</span>
        {note !== null && note !== label && <span className={styles.note}>{note}</span>}
      </span>
      {count > 0 && <span className={styles.count}>{count}</span>}
      <Handle type="source" position={Position.Bottom} className={styles.handle} />
    </div>
  );
}
