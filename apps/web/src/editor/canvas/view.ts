import { useReactFlow, useStoreApi, type Viewport } from "@xyflow/react";
import { useMemo } from "react";
import type { Rect, Size } from "../../ui/layout.ts";
import { around } from "./geometry.ts";

/** Limits of the zoom. Texts are unreadable below `readable`, the minimum of the first view. */
export const zoomLimits = { readable: 0.75, least: 0.2, most: 2 };

/** Changes a zoom in steps of 10 %. */
export const zoomStep = (zoom: number, by: number): number =>
  Math.min(zoomLimits.most, Math.max(zoomLimits.least, (Math.round(zoom * 10) + by) / 10));

const margin = 40;

/** The viewport that shows the whole drawing if it fits at a zoom, else its start at the first node. */
export function viewOf(
  rects: ReadonlyMap<string, Rect>,
  { width, height }: Size,
  smallest: number = zoomLimits.readable,
): Viewport {
  const all = around(rects.values());
  const first = rects.values().next().value;
  if (!all || !first) return { x: margin, y: Math.max(margin, height / 3), zoom: 1 };
  const room = { width: width - 2 * margin, height: height - 2 * margin };
  const fitting = Math.min(room.width / all.width, room.height / all.height, 1);
  const zoom = Math.max(smallest, Math.floor(fitting * 20 + 0.01) / 20);
  const x = width / 2 - (all.x + all.width / 2) * zoom;
  const y = height / 2 - (all.y + all.height / 2) * zoom;
  return {
    zoom,
    x: all.width * zoom <= width ? x : margin - first.x * zoom,
    y: all.height * zoom <= height ? y : Math.max(margin, height / 3) - first.y * zoom,
  };
}

export type View = ReturnType<typeof useView>;

export function useView(rectsOf: () => ReadonlyMap<string, Rect>) {
  const flow = useReactFlow();
  const { getState: sizeOf } = useStoreApi();
  return useMemo(() => {
    const { getViewport, setCenter, setViewport, zoomTo } = flow;
    return {
      zoomBy: (steps: number) => void zoomTo(zoomStep(getViewport().zoom, steps)),
      zoomTo: (zoom: number) => void zoomTo(zoom),
      fit: () => void setViewport(viewOf(rectsOf(), sizeOf(), zoomLimits.least)),
      /** Shows the whole drawing if it is readable, else its start. */
      begin: () => void setViewport(viewOf(rectsOf(), sizeOf())),
      /** Moves the view, in screen pixels. */
      pan: (x: number, y: number) => {
        const viewport = getViewport();
        void setViewport({ ...viewport, x: viewport.x + x, y: viewport.y + y });
      },
      /** Moves the view to a rectangle that is not fully visible. */
      show: (rect: Rect) => {
        const { x, y, zoom } = getViewport();
        const { width, height } = sizeOf();
        const [left, top] = [rect.x * zoom + x, rect.y * zoom + y];
        const [wide, high] = [rect.width * zoom, rect.height * zoom];
        const isSeen = left >= 0 && top >= 0 && left + wide <= width && top + high <= height;
        if (!isSeen) void setCenter(rect.x + rect.width / 2, rect.y + rect.height / 2, { zoom });
      },
      /** The middle of the visible part, in drawing coordinates. */
      center: () => {
        const { x, y, zoom } = getViewport();
        const { width, height } = sizeOf();
        return { x: (width / 2 - x) / zoom, y: (height / 2 - y) / zoom };
      },
    };
  }, [flow, sizeOf, rectsOf]);
}
