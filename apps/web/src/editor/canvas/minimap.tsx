import { useStore } from "@xyflow/react";
import { type PointerEvent, useEffect, useRef } from "react";
import type { Rect, Size } from "../../ui/layout.ts";
import { around } from "./geometry.ts";

const box: Size = { width: 176, height: 120 };

type Props = {
  rects: ReadonlyMap<string, Rect>;
  onMove: (point: { x: number; y: number }) => void;
};

const isInside = (one: Rect, other: Rect): boolean =>
  one.x >= other.x &&
  one.y >= other.y &&
  one.x + one.width <= other.x + other.width &&
  one.y + one.height <= other.y + other.height;

/**
 * The whole drawing with the visible part marked, unless everything is visible. A press moves the view. Paints on a
 * canvas element, because elements for 5,000 nodes would be slow.
 */
export function Minimap({ rects, onMove }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const transform = useStore((store) => store.transform);
  const width = useStore((store) => store.width);
  const height = useStore((store) => store.height);
  const [x, y, zoom] = transform;
  const seen = { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
  const nodes = around(rects.values());
  const all = around(nodes ? [nodes, seen] : [seen]) ?? seen;
  const scale = Math.min(box.width / all.width, box.height / all.height);
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      if (canvas.current) paint(canvas.current, rects, { all, seen, scale });
    });
    return () => cancelAnimationFrame(frame);
  });
  const go = ({ currentTarget, clientX, clientY, buttons }: PointerEvent) => {
    if (buttons !== 1) return;
    const { left, top } = currentTarget.getBoundingClientRect();
    onMove({ x: all.x + (clientX - left) / scale, y: all.y + (clientY - top) / scale });
  };
  if (nodes === null || isInside(nodes, seen)) return null;
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label="Overview of the drawing"
      className="absolute right-3 bottom-3 z-5 cursor-pointer rounded-md border bg-surface/90 max-md:hidden"
      style={box}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={go}
    />
  );
}

type Picture = { all: Rect; seen: Rect; scale: number };

function paint(
  canvas: HTMLCanvasElement,
  rects: ReadonlyMap<string, Rect>,
  { all, seen, scale }: Picture,
): void {
  const density = window.devicePixelRatio;
  canvas.width = box.width * density;
  canvas.height = box.height * density;
  const context = canvas.getContext("2d");
  if (!context) return;
  const { color } = getComputedStyle(canvas);
  context.scale(density * scale, density * scale);
  context.translate(-all.x, -all.y);
  context.fillStyle = color;
  context.strokeStyle = color;
  context.globalAlpha = 0.35;
  for (const { x, y, width, height } of rects.values()) context.fillRect(x, y, width, height);
  context.globalAlpha = 0.7;
  context.lineWidth = 1.5 / scale;
  context.strokeRect(seen.x, seen.y, seen.width, seen.height);
}
