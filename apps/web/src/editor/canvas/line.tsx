import {
  BaseEdge,
  type EdgeProps,
  getBezierPath,
  getSmoothStepPath,
  type InternalNode,
  Position,
  useInternalNode,
} from "@xyflow/react";

/** Length of the straight ends of a line, and its distance below nodes, in drawing coordinates. */
const clearance = 24;

/** A line of a drawing. Backward lines pass below the nodes, not behind them. */
export function Line(props: EdgeProps) {
  const { id, source, target, sourceX, targetX, sourcePosition, targetPosition } = props;
  const { interactionWidth, label, markerEnd } = props;
  const [from, to] = [useInternalNode(source), useInternalNode(target)];
  const isBack =
    targetX < sourceX && sourcePosition === Position.Right && targetPosition === Position.Left;
  const around = { borderRadius: 12, offset: clearance };
  const [path, labelX, labelY] = isBack
    ? getSmoothStepPath({
        ...props,
        ...around,
        centerY: Math.max(bottomOf(from), bottomOf(to)) + clearance,
      })
    : getBezierPath(props);
  return <BaseEdge {...{ id, path, labelX, labelY, label, markerEnd, interactionWidth }} />;
}

const bottomOf = (node: InternalNode | undefined): number =>
  (node?.internals.positionAbsolute.y ?? 0) + (node?.measured.height ?? 0);
