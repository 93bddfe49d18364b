import { MiniMap, useReactFlow, useStore } from "@xyflow/react";
import type { Rect, Size } from "../../ui/layout.ts";
import { around } from "./geometry.ts";

const size: Size = { width: 176, height: 120 };

/** Marks the visible part in the drawing, unless all is visible or the canvas is small. A press moves the view. */
export function Minimap({ rects }: { rects: ReadonlyMap<string, Rect> }) {
  const { getZoom, setCenter } = useReactFlow();
  const all = around(rects.values());
  const isHidden = useStore(({ transform: [x, y, zoom], width, height }) => {
    if (!all || width < 3 * size.width || height < 3 * size.height) return true;
    const [left, top] = [all.x * zoom + x, all.y * zoom + y];
    const [right, bottom] = [left + all.width * zoom, top + all.height * zoom];
    return left >= 0 && top >= 0 && right <= width && bottom <= height;
  });
  if (isHidden) return null;
  return (
    <MiniMap
      pannable
      ariaLabel="Overview of the drawing"
      // Crisp edges would hide nodes that are smaller than a pixel.
      className="box-content cursor-pointer overflow-hidden rounded-md border max-md:hidden [&_rect]:[shape-rendering:geometricPrecision]"
      style={size}
      bgColor="var(--color-surface)"
      nodeColor="var(--color-line-control)"
      maskColor="color-mix(in srgb, var(--color-accent-soft) 45%, transparent)"
      maskStrokeColor="var(--color-accent)"
      onClick={(_, { x, y }) => void setCenter(x, y, { zoom: getZoom() })}
    />
  );
}
