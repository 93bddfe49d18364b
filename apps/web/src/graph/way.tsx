import { BaseEdge, type EdgeProps } from "@xyflow/react";
import { type Layout, pathThrough } from "./layout.ts";

type WayData = Layout["edges"][number];

/** An edge on the way that the layout found for it, so that there and back are told apart. */
export function Way({ id, label, data, markerEnd }: EdgeProps) {
  const { points, label: place } = data as WayData;
  return (
    <BaseEdge
      id={id}
      path={pathThrough(points)}
      markerEnd={markerEnd}
      label={label}
      labelX={place.x}
      labelY={place.y}
    />
  );
}
