import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import {
  CircleCheck,
  CircleDashed,
  CircleX,
  LoaderCircle,
  MessageCircleQuestion,
} from "lucide-react";
import { count as grouped } from "../format/amount.ts";
import { roleName } from "../format/role.ts";
import styles from "./graph.module.css";
import type { GraphNode } from "./role-graph.ts";

/** A node of the drawing. */
export type RoleNode = Node<{ node: GraphNode }, "role">;

const icons: Record<GraphNode["state"], typeof CircleCheck> = {
  idle: CircleDashed,
  done: CircleCheck,
  live: LoaderCircle,
  waiting: MessageCircleQuestion,
  failed: CircleX,
};

/** A role, or a step of a document, as a box. */
export function RoleBox({ data: { node } }: NodeProps<RoleNode>) {
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
      {count > 0 && (
        <span className={styles.count}>
          {grouped(count)}
          <span className="unseen"> times</span>
        </span>
      )}
      <span className="unseen">{state}</span>
      <Handle type="source" position={Position.Bottom} className={styles.handle} />
    </div>
  );
}
