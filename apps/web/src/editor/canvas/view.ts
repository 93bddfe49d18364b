import { useReactFlow, type Viewport } from "@xyflow/react";
import { useMemo } from "react";
import { around, type Rect, type Size } from "./geometry.ts";

export type ZoomLimits = {
  /** How small a drawing is made to be seen as a whole: smaller, it could not be read. */
  whole: number;
  least: number;
  most: number;
};

/** A drawing that is only read may be made smaller. */
export const zoomLimitsOf = (isReadOnly: boolean): ZoomLimits => ({
  whole: isReadOnly ? 0.2 : 0.3,
  least: isReadOnly ? 0.2 : 0.5,
  most: 2,
});

/** A zoom of the steps of 10 %; one that is below the least already is made no smaller. */
export const zoomStep = (zoom: number, by: number, { least, most }: ZoomLimits): number =>
  Math.min(most, Math.max(Math.min(least, zoom), (Math.round(zoom * 10) + by) / 10));

const margin = 40;

/** All of a drawing where that can be read; else the whole of its first node, and what is right of it and below. */
export function viewOf(
  rects: ReadonlyMap<string, Rect>,
  { width, height }: Size,
  { whole, least }: ZoomLimits,
): Viewport {
  const all = around(rects.values());
  const first = rects.values().next().value;
  if (!all || !first) return { x: margin, y: Math.max(margin, height / 3), zoom: 1 };
  const room = { width: width - 2 * margin, height: height - 2 * margin };
  const fitting = Math.min(room.width / all.width, room.height / all.height, 1);
  const inSteps = Math.floor(fitting * 10 + 0.01) / 10;
  const zoom = inSteps < whole ? least : inSteps;
  const x = width / 2 - (all.x + all.width / 2) * zoom;
  const y = height / 2 - (all.y + all.height / 2) * zoom;
  return {
    zoom,
    x: all.width * zoom <= width ? x : margin - first.x * zoom,
    y: all.height * zoom <= height ? y : Math.max(margin, height / 3) - first.y * zoom,
  };
}

/** How the drawing is moved and enlarged, by whatever asks for it. */
export type View = {
  zoomBy: (steps: number) => void;
  zoomTo: (zoom: number) => void;
  fit: () => void;
  /** Moves what is seen, by pixels of the screen. */
  pan: (x: number, y: number) => void;
  /** Moves what is seen, by a vector of the drawing. */
  panTo: (by: { x: number; y: number }) => void;
  /** Brings a part into view, if it is not. */
  show: (rect: Rect) => void;
  /** The point of the drawing in the middle of what is seen. */
  center: () => { x: number; y: number };
};

export function useView(
  sizeOf: () => Size,
  rectsOf: () => ReadonlyMap<string, Rect>,
  limits: ZoomLimits,
): View {
  const flow = useReactFlow();
  return useMemo(() => {
    const { getViewport, setViewport, zoomTo } = flow;
    return {
      zoomBy: (steps) => void zoomTo(zoomStep(getViewport().zoom, steps, limits)),
      zoomTo: (zoom) => void zoomTo(zoom),
      fit: () => void setViewport(viewOf(rectsOf(), sizeOf(), limits)),
      pan: (x, y) => {
        const viewport = getViewport();
        void setViewport({ ...viewport, x: viewport.x + x, y: viewport.y + y });
      },
      panTo: ({ x, y }) => {
        const viewport = getViewport();
        const { zoom } = viewport;
        void setViewport({ zoom, x: viewport.x - x * zoom, y: viewport.y - y * zoom });
      },
      show: (rect) => {
        const { x, y, zoom } = getViewport();
        const { width, height } = sizeOf();
        const [left, top] = [rect.x * zoom + x, rect.y * zoom + y];
        const [wide, high] = [rect.width * zoom, rect.height * zoom];
        const isSeen = left >= 0 && top >= 0 && left + wide <= width && top + high <= height;
        if (isSeen) return;
        void setViewport({
          x: width / 2 - (rect.x + rect.width / 2) * zoom,
          y: height / 2 - (rect.y + rect.height / 2) * zoom,
          zoom,
        });
      },
      center: () => {
        const { x, y, zoom } = getViewport();
        const { width, height } = sizeOf();
        return { x: (width / 2 - x) / zoom, y: (height / 2 - y) / zoom };
      },
    };
  }, [flow, sizeOf, rectsOf, limits]);
}
