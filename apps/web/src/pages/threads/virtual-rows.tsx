import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useLayoutEffect, useState } from "react";
import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import type { RowsView } from "./thread-row.tsx";

type Props = {
  rows: readonly ThreadRow[];
  list: RefObject<HTMLDivElement | null>;
  estimatedPx: number;
  onView: (view: RowsView) => void;
};

/** Finds the visible rows of a list and reports them. Renders nothing. */
export function VirtualRows({ rows, list, estimatedPx, onView }: Props): null {
  const [top, setTop] = useState(0);
  // Elements above the table may grow.
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0));
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => estimatedPx,
    overscan: 12,
    scrollMargin: top,
    // A new function would make new items at each render.
    getItemKey: useCallback((index: number) => rows[index]?.threadId ?? index, [rows]),
  });
  const items = virtual.getVirtualItems();
  const height = virtual.getTotalSize();
  useLayoutEffect(() => {
    // The window's size is unknown at first. A view without rows would unmount the focused row.
    if (items.length === 0) return;
    onView({
      rows: items.map(({ index, start }) => ({ index, offset: start - top })),
      height,
      measure: virtual.measureElement,
      show: (index) => virtual.scrollToIndex(index),
    });
  }, [items, height, top, virtual, onView]);
  return null;
}
